"""Notes for the prompts of later iterations."""

import asyncio
from pathlib import Path

from spool.app.loops.state_mirror import open_folder
from spool.domain.loop.summary import LoopSummary
from spool.errors import UsageError
from spool.host.git.repository import find_repository
from spool.host.state.loop_store import StateFolder

_LARGEST_NOTE = 1 << 20
_GIT_TIMEOUT_S = 30.0


def add_note(state: Path, text: str) -> None:
    """Add a note that every later iteration reads."""
    if not text.strip():
        raise UsageError("the note is empty")
    if len(text) > _LARGEST_NOTE:
        raise UsageError("the note is longer than 1 MiB")
    _folder(state).add_context(text)


def add_note_to(loop: LoopSummary, text: str) -> None:
    """Add a note for the later iterations of a loop."""
    add_note(Path(loop.folder), text)


def clear_notes(state: Path) -> None:
    """Remove all notes."""
    _folder(state).clear_context()


def _folder(state: Path) -> StateFolder:
    """Return a state folder with its mirror: an agent may remove the folder before its runner sees the note."""
    return open_folder(state, asyncio.run(find_repository(state.parents[3], timeout_s=_GIT_TIMEOUT_S)))
