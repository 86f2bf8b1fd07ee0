"""A request to stop, which may come at any moment and from any side."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from spool.errors import SpoolError

_Result = TypeVar("_Result")
GRACE_S = 0.4
"""How long a git command may still take once a stop is requested: a stop is obeyed within half a second."""


class Stop:
    """Remembers that somebody asked the loop to stop, and wakes whoever waits."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._wakers: list[Callable[[], None]] = []
        self.by = ""
        self.forced = False

    @property
    def requested(self) -> bool:
        """Whether the loop should end."""
        return self._event.is_set()

    def request(self, by: str) -> None:
        """Ask for a stop; asked again, force it."""
        self.forced = self.forced or self.requested
        self.by = self.by or by
        self._event.set()
        for wake in self._wakers:
            wake()

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` on each request while the context lasts."""
        self._wakers.append(wake)
        try:
            yield
        finally:
            self._wakers.remove(wake)

    async def wait(self) -> None:
        """Wait until a stop is requested."""
        await self._event.wait()

    async def interrupts(self, sleep: Coroutine[Any, Any, None]) -> bool:
        """Await a sleep, or a stop, whichever comes first; return whether a stop was requested."""
        tasks = {asyncio.ensure_future(sleep), asyncio.ensure_future(self.wait())}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        return self.requested

    async def obeyed(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        """Await work that may take long; after a stop it has a moment left, is cancelled, and None is returned."""
        task = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self.wait())
        try:
            await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({task}, timeout=GRACE_S)
            return task.result() if task.done() else None
        finally:
            stopping.cancel()
            task.cancel()
            with suppress(asyncio.CancelledError, SpoolError):
                await task
