"""Reading the journal: long events, and without the agent's own text."""

from datetime import UTC, datetime
from pathlib import Path

from spool.domain.events import AgentEvent, Event, IterationStarted, StoryEvent, Warned
from spool.domain.stream import Message, ToolResult, ToolUse, Usage, UsageSoFar
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
