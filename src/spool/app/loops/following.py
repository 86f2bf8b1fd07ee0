"""Reads the journals and logs of loops that run in other processes: as they grow, or a page at any place."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from spool.app.loops.loop_list import is_running
from spool.domain.loop.events import Event, RunEnded
from spool.domain.loop.summary import LoopSummary
from spool.errors import SpoolError
from spool.host.state.journal import JournalEntry, JournalPage, JournalReader
from spool.host.state.loop_store import StateFolder
from spool.nofollow import open_file

__all__ = ["FollowedRun", "JournalEntry", "JournalPage", "events_of", "exit_code_of", "journal_page", "log_of"]

_POLL_S = 0.2
_READ = 1 << 16


class FollowedRun:
    """The journal of one run, from its start on; it may not exist yet."""

    def __init__(self, folder: Path, run_id: str) -> None:
        self._folder = StateFolder(folder)
        self._run_id = run_id
        self._reader: JournalReader | None = None
        self.over = False

    def open(self, *, early: bool = False) -> None:
        """Open the journal once it is the run's: a fresh run sets the old one aside first; `early` does not wait."""
        state = self._folder.of_run(self._run_id)
        if state is not None or early:
            self._reader = JournalReader(self._folder.journal, offset=state.journal_offset if state else 0)

    def read(self) -> Iterator[Event]:
        """Yield the events since the last call."""
        if self._reader is None:
            with suppress(OSError):
                self.open()
        for event in self._reader.read() if self._reader and not self.over else ():
            if event.run_id == self._run_id:
                self.over |= isinstance(event, RunEnded)
                yield event

    def close(self) -> None:
        """Close the journal."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def events_of(loop: LoopSummary, tick: Callable[[], None], *, follow: bool) -> Iterator[Event]:
    """Yield the events of one run as they arrive, until it ends or its runner exits."""
    with closing(FollowedRun(Path(loop.folder), loop.run_id)) as run:
        try:
            run.open(early=True)
        except FileNotFoundError:
            raise SpoolError(f"no journal at {StateFolder(Path(loop.folder)).journal}") from None
        while True:
            going = follow and is_running(loop)
            yield from run.read()
            if not going:
                return
            time.sleep(_POLL_S)
            tick()


def journal_page(loop: LoopSummary, *, before: int | None = None, at: int | None = None) -> JournalPage | None:
    """Return the events from a place on, those before a place, or the last ones; None without a journal."""
    try:
        with closing(JournalReader(StateFolder(Path(loop.folder)).journal)) as reader:
            return reader.page(before=before, at=at)
    except OSError:
        return None


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
