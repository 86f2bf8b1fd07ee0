"""Reading the journal: long events, and without the agent's own text."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from spool.domain.agent.stream import Message, ToolResult, ToolUse, Usage, UsageSoFar
from spool.domain.loop.events import AgentEvent, Event, IterationStarted, StoryEvent, Warned
from spool.host.state.journal import JournalReader, JournalWriter

FORGED = '"event":{"kind":"message"'
EVENTS: list[Event] = [
    IterationStarted(iteration=1, run_iteration=1, max_iterations=None, prompt=""),
    AgentEvent(iteration=1, event=Message(text="x" * 300_000, partial=True)),
    AgentEvent(iteration=1, event=ToolUse(tool="read", summary=FORGED)),
    StoryEvent(story_id="1", iteration=1, event=ToolResult(output="y" * 3_000_000)),
    AgentEvent(iteration=1, event=UsageSoFar(usage=Usage(tokens_in=1))),
    StoryEvent(story_id="1", iteration=1, event=Message(text="short")),
    Warned(message=FORGED),
]


def written(path: Path) -> Path:
    writer = JournalWriter(path, run_id="r", now=lambda: datetime.now(UTC))
    for event in EVENTS:
        writer.emit(event)
    writer.close()
    return path


def read(path: Path, *, text: bool) -> list[str]:
    reader = JournalReader(path, text=text)
    try:
        return [type(getattr(event, "event", event)).__name__ for event in reader.read()]
    finally:
        reader.close()


def test_an_event_of_any_length_is_read_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "journal.jsonl")
    assert len(read(path, text=True)) == len(EVENTS)


def test_a_reader_without_text_passes_over_messages_and_results_only(tmp_path: Path) -> None:
    path = written(tmp_path / "journal.jsonl")
    assert read(path, text=False) == ["IterationStarted", "ToolUse", "UsageSoFar", "Warned"]


def test_a_reader_without_text_follows_a_journal_that_grows_in_any_pieces(tmp_path: Path) -> None:
    whole = written(tmp_path / "journal.jsonl").read_bytes()
    for step in (997, 65_536, 300_000):
        growing = tmp_path / f"growing-{step}"
        growing.write_bytes(b"")
        reader, seen = JournalReader(growing, text=False), list[str]()
        for start in range(0, len(whole), step):
            with growing.open("ab") as file:
                file.write(whole[start : start + step])
            seen += [type(getattr(event, "event", event)).__name__ for event in reader.read()]
        reader.close()
        assert seen == ["IterationStarted", "ToolUse", "UsageSoFar", "Warned"]


def emitted(path: Path, text: str) -> tuple[int, str]:
    """Return the bytes that a message takes in a journal, and its text there."""
    writer = JournalWriter(path, run_id="r", now=lambda: datetime.now(UTC))
    writer.emit(AgentEvent(iteration=1, event=Message(text=text, partial=True)))
    writer.close()
    reader = JournalReader(path)
    (event,) = reader.read()
    reader.close()
    assert isinstance(event, AgentEvent)
    assert isinstance(event.event, Message)
    assert event.event.partial
    return path.stat().st_size, event.event.text


STRETCHED = {
    "NUL": ("\0", ""),
    "bell": ("\x07", ""),
    "escape": ("\x1b", ""),
    "escape and bell": ("\x1b\x07", ""),
    "colours": ("\x1b[m", ""),
    "UTF-16": ("a\0b\0", "ab"),
    "among characters of three bytes": ("完\0\0", "完"),
}


@pytest.mark.parametrize(("unit", "kept"), STRETCHED.values(), ids=STRETCHED)
def test_control_characters_do_not_stretch_the_journal(tmp_path: Path, unit: str, kept: str) -> None:
    text = unit * 20_000
    size, read = emitted(tmp_path / "journal.jsonl", text)
    assert size < 2 * len(text.encode()) + 1_000
    assert read == kept * 20_000


@pytest.mark.parametrize(
    "text", ["完了\n" * 9_000, '"\\\n\t' * 9_000, "\x1b[1mbold words\x1b[0m\n" * 9_000, "\0" * 100]
)
def test_other_text_is_in_the_journal_as_it_was_said(tmp_path: Path, text: str) -> None:
    assert emitted(tmp_path / "journal.jsonl", text)[1] == text
