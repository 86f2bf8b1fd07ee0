"""Follows a loop's journal without blocking, for a screen."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from spool.host.agents.tail import Notifier
from spool.host.state.files import opened
from spool.host.state.journal import FAR, JournalEntry, JournalReader

_TICK_S = 0.25


class Feed:
    """Follows a journal for a screen, and reads any earlier part and the logs again."""

    def __init__(self, folder: Path, alive: Callable[[], bool], ready: Callable[[], bool] = lambda: True) -> None:
        self._path = folder / "journal.jsonl"
        self._logs = folder / "logs"
        self._alive = alive
        self._ready = ready
        """Whether the journal is the runner's: a fresh run sets the old one aside first."""
        self._reader: JournalReader | None = None
        self._notifier: Notifier | None = None
        self.size = 0

    @property
    def offset(self) -> int:
        """How far the journal is read."""
        return self._reader.offset if self._reader else 0

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
        return await asyncio.to_thread(self._reader.between, start, stop) if self._reader else []

    async def log_sizes(self, iteration: int) -> tuple[int, int]:
        """Return the bytes printed so far on standard error and on standard output."""
        return await asyncio.to_thread(lambda: (self._log_size(iteration, "err"), self._log_size(iteration, "out")))

    async def log(self, iteration: int, stream: str, start: int, stop: int) -> bytes:
        """Return a part of an agent's output; `stream` is `err` or `out`."""
        return await asyncio.to_thread(self._log_part, iteration, stream, start, stop)

    def close(self) -> None:
        """Close the files."""
        for one in (self._reader, self._notifier):
            if one is not None:
                one.close()
        self._reader = self._notifier = None

    def _read(self) -> list[JournalEntry]:
        reader = self._opened()
        if reader is None:
            return []
        self.size = reader.size
        return reader.read_some()

    def _tail(self) -> list[JournalEntry]:
        reader = self._opened()
        return list(reader.page().rows) if reader is not None and reader.size >= FAR else []

    def _opened(self) -> JournalReader | None:
        if self._reader is None:
            with suppress(OSError):
                self._reader = JournalReader(self._path) if self._ready() else None
        return self._reader

    async def _wait(self) -> None:
        """Wait until the journal grows; without inotify or a journal, for 50 ms."""
        if self._notifier is None and self._reader is not None:
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
