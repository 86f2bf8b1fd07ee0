"""Observers are fed from the journal, each by a thread of its own, and none can hurt another or the loop."""

from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pytest

from spool.app.observing import observers
from spool.app.observing.observers import Attention, observers_of, observing
from spool.domain.agent.stream import Message
from spool.domain.loop.events import AgentEvent, Event, RunEnded, Warned
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind
from spool.domain.loop.verdict import Status
from spool.host.state.journal import JournalWriter

END = RunEnded(status=Status.DONE, reason="", exit_code=0)
SPEC = LoopSpec(run_id="1", door=LoopKind.RALPH, change="add-auth", root="/", settings=Settings())


class Notes:
    """An observer that remembers."""

    attention = Attention()

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.closed = False

    def see(self, event: Event) -> None:
        self.seen.append(event.message if isinstance(event, Warned) else type(event).__name__)

    def tick(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class Broken(Notes):
    """An observer with a bug."""

    def see(self, event: Event) -> None:
        raise ZeroDivisionError("its own fault")


def journal(path: Path) -> JournalWriter:
    return JournalWriter(path / "journal.jsonl", run_id="1", now=lambda: datetime(2026, 1, 1, tzinfo=UTC))


def test_a_broken_observer_hurts_nobody(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    writer, notes = journal(tmp_path), Notes()
    with observing(tmp_path / "journal.jsonl", 0, [Broken(), notes]) as watching:
        for message in ("one", "two"):
            writer.emit(Warned(message=message))
        writer.emit(END)
        for observation in watching:
            observation.notice(END)
    assert (notes.seen, notes.closed) == (["one", "two", "RunEnded"], True)
    assert "an observer failed: ZeroDivisionError: its own fault" in capfd.readouterr().err


def test_an_observer_sees_only_this_run(tmp_path: Path) -> None:
    writer, notes = journal(tmp_path), Notes()
    writer.emit(Warned(message="of an earlier run"))
    offset = (tmp_path / "journal.jsonl").stat().st_size
    with observing(tmp_path / "journal.jsonl", offset, [notes]):
        writer.emit(END)
    assert notes.seen == ["RunEnded"]


def wanted(spec: LoopSpec) -> Notes:
    return Notes()


class Undeclared:
    """An observer of another package, written before an observer declared its attention."""

    reads_text = False
    seen: ClassVar[list[str]] = []

    def see(self, event: Event) -> None:
        self.seen.append(type(event).__name__)

    def tick(self) -> None:
        pass

    def close(self) -> None:
        self.seen.append("closed")


def undeclared(spec: LoopSpec) -> Undeclared:
    return Undeclared()


def unwanted(spec: LoopSpec) -> None:
    return None


def install(path: Path, monkeypatch: pytest.MonkeyPatch, *names: str, kind: str = "dist-info") -> None:
    """Put a package with these observers on the path."""
    info = path / f"noted-1.0.{kind}"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: noted\nVersion: 1.0\n")
    offers = "".join(f"{name} = {__name__}:{name}\n" for name in names)
    (info / "entry_points.txt").write_text(f"[{observers.GROUP}]\n{offers}")
    monkeypatch.syspath_prepend(str(path))


@pytest.mark.parametrize("kind", ["dist-info", "egg-info"])
def test_installed_packages_join_by_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    assert observers_of(SPEC) == []
    install(tmp_path, monkeypatch, "wanted", "unwanted", kind=kind)
    (found,) = observers_of(SPEC)
    assert isinstance(found, Notes)


def test_an_observer_that_declares_nothing_gets_what_it_always_got(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, "undeclared")
    (found,) = observers_of(SPEC)
    assert found.attention == Attention(text=False, ticks=True)
    writer = journal(tmp_path)
    with observing(tmp_path / "journal.jsonl", 0, [found]):
        writer.emit(AgentEvent(iteration=1, event=Message(text="hello")))
        writer.emit(Warned(message="one"))
        writer.emit(END)
    assert Undeclared.seen == ["Warned", "RunEnded", "closed"]
