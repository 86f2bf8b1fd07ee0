"""A request to stop, which may come at any moment and from any side."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


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

    async def sleep(self, seconds: float) -> bool:
        """Wait so long, or until a stop is requested; return whether one was."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), seconds)
        return self.requested
