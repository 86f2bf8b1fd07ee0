"""Notes for the prompts of later iterations."""

from pathlib import Path

from spool.domain.loop import LoopSummary
from spool.errors import UsageError
from spool.host.state.store import StateFolder

_LARGEST_NOTE = 1 << 20


def add_note(state: Path, text: str) -> None:
    """Add a note that every later iteration reads."""
    if not text.strip():
        raise UsageError("the note is empty")
    if len(text) > _LARGEST_NOTE:
        raise UsageError("the note is longer than 1 MiB")
    StateFolder(state).add_context(text)


def add_note_to(loop: LoopSummary, text: str) -> None:
    """Add a note for the later iterations of a loop."""
    add_note(Path(loop.folder), text)


def clear_notes(state: Path) -> None:
    """Remove all notes."""
    StateFolder(state).clear_context()
