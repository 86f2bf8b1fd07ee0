"""The power fails between any two writes of the store: what is read afterwards is old or new, and never torn."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import msgspec
import pytest

from spool.domain.loop.events import Event, Warned
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.state import IterationRecord, LoopState
from spool.domain.loop.summary import LoopKind, LoopSummary, Runner
from spool.domain.loop.verdict import Limits, Status
from spool.host.state.journal import JournalReader, JournalWriter
from spool.host.state.loop_store import StateFolder
from spool.host.state.run_registry import Registry
from tests.faults.power import PowerlessDisk, lay_out
from tests.support.scale import SCALE

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STATE = LoopState(
    run_id="20260101T000000-59678a",
    door=LoopKind.RALPH,
    change="add-auth",
    project="/work/project",
    status=Status.RUNNING,
    limits=Limits(),
    runner=Runner(pid=1, start_time="", boot_id="", host=""),
    started_at=NOW,
    updated_at=NOW,
)
LENGTH = 3 if SCALE >= 1 else 2
"""Sequences of up to this many operations are tried, all of them."""


def record(number: int) -> IterationRecord:
    return IterationRecord(
        iteration=number, run_id=STATE.run_id, started_at=NOW, ended_at=NOW, duration_s=1.0, harness="opencode",
        model=None, exit_code=0, outcome=OutcomeKind.NO_PROMISE,
    )  # fmt: skip


@dataclass(frozen=True)
class Known:
    """What the store was asked to keep."""

    state: LoopState | None = None
    history: tuple[IterationRecord, ...] = ()
    context: str = ""
    done: bool | None = False
    """None once the mark was removed: it may come back, and each run removes it first."""
    events: tuple[str, ...] = ()
    synced_events: int = 0
    runs: frozenset[str] = frozenset()


@dataclass
class Store:
    """The real store below a folder, and what it was asked to keep."""

    root: Path
    known: Known = field(default_factory=Known)
    count: int = 0

    @property
    def folder(self) -> StateFolder:
        return StateFolder(self.root / "tree" / ".spool" / ".state" / "add-auth", mirror=self.root / "git" / "mirror")

    @property
    def registry(self) -> Registry:
        return Registry(self.root / "home" / "loops")

    def save(self) -> None:
        state = msgspec.structs.replace(STATE, iteration=len(self.known.history), reason=f"save {self.count}")
        self.known = replace(self.known, state=state)
        self.folder.save(state)

    def append(self) -> None:
        added = record(len(self.known.history) + 1)
        self.known = replace(self.known, history=(*self.known.history, added))
        self.folder.append(added)

    def add_context(self) -> None:
        self.known = replace(self.known, context=self.known.context + f"note {self.count}\n")
        self.folder.add_context(f"note {self.count}")

    def clear_context(self) -> None:
        self.known = replace(self.known, context="")
        self.folder.clear_context()

    def mark_done(self) -> None:
        self.known = replace(self.known, done=True)
        self.folder.mark_done()

    def unmark_done(self) -> None:
        self.known = replace(self.known, done=None if self.known.done else self.known.done)
        self.folder.unmark_done()

    def journal(self) -> None:
        """Write two events; they are durable once the journal is closed."""
        words = (*self.known.events, f"{self.count}a", f"{self.count}b")
        self.known = replace(self.known, events=words)
        writer = JournalWriter(self.folder.journal, run_id=STATE.run_id, now=lambda: NOW)
        self.folder.link()
        for word in words[-2:]:
            writer.emit(Warned(message=word))
        writer.close()
        self.known = replace(self.known, synced_events=len(words))

    def start_fresh(self) -> None:
        self.known = replace(self.known, state=None, history=(), events=(), synced_events=0)
        self.folder.start_fresh(f"fresh-{self.count}")

    def register(self) -> None:
        name = f"20260101T00000{self.count}-59678a"
        self.known = replace(self.known, runs=self.known.runs | {name})
        loop = msgspec.convert(msgspec.to_builtins(STATE), LoopSummary, strict=False)
        self.registry.enter(msgspec.structs.replace(loop, run_id=name))


OPERATIONS: dict[str, Callable[[Store], None]] = {
    "save": Store.save,
    "append": Store.append,
    "add context": Store.add_context,
    "clear context": Store.clear_context,
    "mark done": Store.mark_done,
    "unmark done": Store.unmark_done,
    "journal": Store.journal,
    "start fresh": Store.start_fresh,
    "register": Store.register,
}


@pytest.mark.parametrize("last", OPERATIONS)
def test_the_store_is_old_or_new_after_a_power_cut(last: str, tmp_path: Path) -> None:
    """Each sequence that ends in one operation, and each moment of that operation; shorter ones cover the rest."""
    tried = 0
    for length in range(LENGTH):
        for before in product(OPERATIONS, repeat=length):
            tried += cut_in_the_last((*before, last), tmp_path)
    assert tried


def cut_in_the_last(names: tuple[str, ...], base: Path) -> int:
    """Run the operations on a disk; cut the power at each moment of the last; return the number of states read."""
    with folder_in(base) as root:
        store, disk = Store(root), PowerlessDisk(root)
        with disk.recording():
            store.folder.prepare()
            for name in names[:-1]:
                store.count += 1
                OPERATIONS[name](store)
            old, first = store.known, len(disk.steps)
            store.count += 1
            OPERATIONS[names[-1]](store)
        new, seen = store.known, set()
        for moment in range(first, len(disk.steps) + 1):
            for state in disk.states(moment):
                if (state, moment == len(disk.steps)) not in seen:
                    seen.add((state, moment == len(disk.steps)))
                    with folder_in(base) as left:
                        lay_out(state, root, left)
                        check(Store(left), new if moment == len(disk.steps) else old, new, f"{names} at {moment}")
        return len(seen)


def check(store: Store, old: Known, new: Known, what: str) -> None:
    """Read everything as the next run does, before and after it repairs the folder, and go on from there."""
    for _ in range(2):
        folder = store.folder
        state, history = folder.load(), tuple(folder.history())
        assert state in (old.state, new.state), f"{what}: state {state}"
        assert history in (old.history, new.history), f"{what}: {len(history)} records"
        assert state is None or len(history) >= state.iteration, f"{what}: iterations are lost"
        assert folder.context() in (old.context, new.context), f"{what}: context {folder.context()!r}"
        assert None in (old.done, new.done) or folder.marked_done() in (old.done, new.done), f"{what}: done"
        events = read_events(folder.journal)
        emitted = new.events or old.events
        assert [word for word in emitted if word in events] == events, f"{what}: events {events}"
        assert set(old.events[: old.synced_events]) <= set(events) or not new.events, f"{what}: events lost: {events}"
        runs = {loop.run_id for loop in store.registry.runs()}
        assert old.runs <= runs <= new.runs, f"{what}: runs {runs}"
        folder.prepare()
        folder.recover(state, now=NOW)
    last = msgspec.structs.replace(STATE, reason="after the power cut")
    store.folder.save(last)
    store.folder.append(record(99))
    assert store.folder.load() == last
    assert store.folder.history()[-1] == record(99)


def read_events(path: Path) -> list[str]:
    if not path.exists():
        return []
    reader = JournalReader(path)
    try:
        found: list[Event] = list(reader.read())
    finally:
        reader.close()
    return [event.message for event in found if isinstance(event, Warned)]


@contextmanager
def folder_in(base: Path) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else base))
    try:
        yield path
    finally:
        shutil.rmtree(path)
