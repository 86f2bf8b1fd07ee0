"""A late look at a loop that runs elsewhere: its events, and its log. Only reads."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from spool.app.loops import is_running
from spool.domain.events import Event
from spool.domain.loop import LoopSummary
from spool.errors import SpoolError
from spool.host.state.journal import JournalReader
from spool.host.state.store import StateFolder

_POLL_S = 0.2
_READ = 1 << 16


def events_of(loop: LoopSummary, tick: Callable[[], None], *, follow: bool) -> Iterator[Event]:
    """Yield the events of one run as they come, until it ends or its runner is gone."""
    folder = StateFolder(Path(loop.folder))
    try:
        reader = JournalReader(folder.journal, offset=_offset(folder, loop))
    except FileNotFoundError:
        raise SpoolError(f"there is no journal at {folder.journal}") from None
    with closing(reader):
        while True:
            going = follow and is_running(loop)
            for event in reader.read():
                if event.run_id == loop.run_id:
                    yield event
            if not going:
                return
            time.sleep(_POLL_S)
            tick()


def log_of(path: Path, going: Callable[[], bool]) -> Iterator[bytes]:
    """Yield a file in pieces, and what is added to it while something is `going`."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise SpoolError(f"there is no log at {path}") from None
    with file:
        while True:
            more = going()  # asked before reading: what was written before the end is printed
            while chunk := file.read(_READ):
                yield chunk
            if not more:
                return
            time.sleep(_POLL_S)


def _offset(folder: StateFolder, loop: LoopSummary) -> int:
    """Return where a run begins in the journal, if its state still says so."""
    with suppress(SpoolError, OSError):
        state = folder.load()
        if state is not None and state.run_id == loop.run_id:
            return state.journal_offset
    return 0
