"""Reads a loop's journal and logs: from the start, as they grow, and any earlier part again."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.loop.events import Event
from spool.host.agents.tail import Notifier
from spool.host.state.files import opened
from spool.host.state.journal import READ, readable, whole_lines
from spool.nofollow import open_file

_TICK_S = 0.25
_LONG = 1 << 20
"""Bytes of a journal that is read in less than a frame."""
_TAIL = 1 << 17
_MANY = 1 << 18
"""Bytes to read at once while much is left: about 1,000 events."""


class JournalEntry(msgspec.Struct, frozen=True):
    """An event, and its place in the journal."""

    start: int
    stop: int
    event: Event


class Feed:
    """Follows a journal that may not exist yet."""

    def __init__(self, folder: Path, alive: Callable[[], bool], ready: Callable[[], bool] = lambda: True) -> None:
        self._path = folder / "journal.jsonl"
        self._logs = folder / "logs"
        self._alive = alive
        self._ready = ready
        """Whether the journal is the runner's: a fresh run sets the old one aside first."""
        self._descriptor: int | None = None
        self._notifier: Notifier | None = None
        self.offset = 0
        self.size = 0

    async def next(self) -> tuple[list[JournalEntry], bool]:
        """Return the next events, and whether the runner is gone and none will follow."""
        if self.offset < self.size and (rows := await asyncio.to_thread(self._read)):  # there is more, whoever lives
            return rows, False
        was_alive = await asyncio.to_thread(self._alive)
        rows = await asyncio.to_thread(self._read)
        if rows:
            return rows, False
        if not was_alive:
            return [], True
        await self._wait()
        return [], False

    async def tail(self) -> list[JournalEntry]:
        """Return the last events of a long journal, to be shown before the rest is read; none of a short one."""
        return await asyncio.to_thread(self._tail)

    async def page(self, start: int, stop: int) -> list[JournalEntry]:
        """Return the events between two offsets of the journal."""
        return await asyncio.to_thread(lambda: list(rows_in(self._part(start, stop), start)))

    async def log_sizes(self, iteration: int) -> tuple[int, int]:
        """Return the bytes printed so far on standard error and on standard output."""
        return await asyncio.to_thread(lambda: (self._log_size(iteration, "err"), self._log_size(iteration, "out")))

    async def log(self, iteration: int, stream: str, start: int, stop: int) -> bytes:
        """Return a part of an agent's output; `stream` is `err` or `out`."""
        return await asyncio.to_thread(self._log_part, iteration, stream, start, stop)

    def close(self) -> None:
        """Close the files."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._notifier is not None:
            self._notifier.close()
            self._notifier = None

    def _read(self) -> list[JournalEntry]:
        """Read to the last complete line."""
        if self._descriptor is None and not self._open():
            return []
        assert self._descriptor is not None  # noqa: S101 - it was opened just now
        self.size = os.fstat(self._descriptor).st_size
        finished = whole_lines(self._descriptor, self.offset, most=_MANY if self.size - self.offset > _LONG else READ)
        rows = list(rows_in(finished, self.offset))
        self.offset += len(finished)
        # Skip lines that this version does not know, without waiting.
        return rows if rows or not finished else self._read()

    def _tail(self) -> list[JournalEntry]:
        if self._descriptor is None and not self._open():
            return []
        assert self._descriptor is not None  # noqa: S101 - it was opened just now
        self.size = os.fstat(self._descriptor).st_size
        if self.size < _LONG:
            return []
        start = self.size - _TAIL
        data = self._part(start, self.size)
        first = data.find(b"\n") + 1
        return list(rows_in(data[first:], start + first)) if first else []

    def _open(self) -> bool:
        with suppress(OSError):
            if not self._ready():
                return False
            self._descriptor = open_file(self._path, os.O_RDONLY)
            return True
        return False

    def _part(self, start: int, stop: int) -> bytes:
        if self._descriptor is None:
            return b""
        return os.pread(self._descriptor, stop - start, start)

    async def _wait(self) -> None:
        """Wait until the journal grows; without inotify or a journal, for 50 ms."""
        if self._notifier is None and self._descriptor is not None:
            self._notifier = Notifier()
            self._notifier.watch(self._path)
        descriptor = self._notifier.descriptor if self._notifier is not None else None
        if descriptor is None:
            await asyncio.sleep(0.05)
            return
        loop, grown = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(descriptor, grown.set)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(grown.wait(), _TICK_S)
        finally:
            loop.remove_reader(descriptor)
        if self._notifier is not None:
            self._notifier.drain()

    def _log_size(self, iteration: int, stream: str) -> int:
        with suppress(OSError):
            return self._log(iteration, stream).stat().st_size
        return 0

    def _log_part(self, iteration: int, stream: str, start: int, stop: int) -> bytes:
        with suppress(OSError), opened(self._log(iteration, stream), os.O_RDONLY) as descriptor:
            return os.pread(descriptor, stop - start, start)
        return b""

    def _log(self, iteration: int, stream: str) -> Path:
        return self._logs / f"{iteration:04d}.{stream}"


def rows_in(data: bytes, start: int) -> Iterator[JournalEntry]:
    """Yield the events of whole lines; `start` is where the first one stands in the journal."""
    for line in data.split(b"\n")[:-1]:
        stop = start + len(line) + 1
        for event in readable(line):
            yield JournalEntry(start, stop, event)
        start = stop
