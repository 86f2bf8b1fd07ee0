"""Stop requests, which may arrive at any moment."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from spool.errors import SpoolError

_Result = TypeVar("_Result")
GRACE_S = 0.4
"""Seconds a git command may still take after a stop request, so that a loop stops within 0.5 s."""


class Stop:
    """Records a stop request and wakes its waiters."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._wakers: list[Callable[[], None]] = []
        self.by = ""
        self.forced = False

    @property
    def requested(self) -> bool:
        """Whether a stop was requested."""
        return self._event.is_set()

    def request(self, by: str) -> None:
        """Request a stop; a second request forces it."""
        self.forced = self.forced or self.requested
        self.by = self.by or by
        self._event.set()
        for wake in self._wakers:
            wake()

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` on each request within the context."""
        self._wakers.append(wake)
        try:
            yield
        finally:
            self._wakers.remove(wake)

    async def wait(self) -> None:
        """Wait until a stop is requested."""
        await self._event.wait()

    async def interrupts(self, sleep: Coroutine[Any, Any, None]) -> bool:
        """Await a sleep or a stop, whichever comes first; return whether a stop was requested."""
        tasks = {asyncio.ensure_future(sleep), asyncio.ensure_future(self.wait())}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        return self.requested

    async def obeyed(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        """Await work and return its result; after a stop request, cancel it after 0.4 s and return None."""
        task = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self.wait())
        try:
            await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({task}, timeout=GRACE_S)
            return task.result() if task.done() else None
        finally:
            stopping.cancel()
            if not task.done():  # to raise its error a second time would lose where it came from
                task.cancel()
                with suppress(asyncio.CancelledError, SpoolError):
                    await task
