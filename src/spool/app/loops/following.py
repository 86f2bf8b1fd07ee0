"""Reads the events and the log of a loop that runs in another process."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from spool.app.loops.loop_list import is_running
from spool.domain.loop.events import Event, RunEnded
from spool.domain.loop.summary import LoopSummary
from spool.errors import SpoolError
from spool.host.state.journal import JournalReader
from spool.host.state.loop_store import StateFolder
from spool.nofollow import open_file

_POLL_S = 0.2
_READ = 1 << 16


def events_of(loop: LoopSummary, tick: Callable[[], None], *, follow: bool) -> Iterator[Event]:
    """Yield the events of one run as they arrive, until it ends or its runner exits."""
    folder = StateFolder(Path(loop.folder))
    state = folder.of_run(loop.run_id)
    try:
        reader = JournalReader(folder.journal, offset=state.journal_offset if state else 0)
    except FileNotFoundError:
        raise SpoolError(f"no journal at {folder.journal}") from None
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


def exit_code_of(loop: LoopSummary) -> int:
    """Return the exit code of a run that is over; 1 if its runner died."""
    with suppress(SpoolError):
        ends = [event for event in events_of(loop, lambda: None, follow=False) if isinstance(event, RunEnded)]
        return ends[-1].exit_code if ends else 1
    return 1


def log_of(path: Path, going: Callable[[], bool]) -> Iterator[bytes]:
    """Yield a file in chunks, and follow it while `going` returns true."""
    try:
        file = open(open_file(path, os.O_RDONLY), "rb")  # noqa: PTH123, SIM115
    except FileNotFoundError:
        raise SpoolError(f"no log at {path}") from None
    with file:
        while True:
            more = going()  # before reading, so that the last lines are not missed
            while chunk := file.read(_READ):
                yield chunk
            if not more:
                return
            time.sleep(_POLL_S)
