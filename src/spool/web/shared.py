"""Shares one result among callers that ask for the same within a moment."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

_Result = TypeVar("_Result")
_KEPT = 128


class Shared(Generic[_Result]):
    """Keeps results for some seconds; a caller waits while one is being made."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._made: dict[Hashable, tuple[float, asyncio.Future[_Result]]] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[_Result]]) -> _Result:
        """Return the result for a key, made now if the last one is older."""
        at, made = self._made.get(key, (0.0, None))
        if made is None or (made.done() and (self._now() - at > self._seconds or made.cancelled() or made.exception())):
            made = asyncio.ensure_future(make())
            made.add_done_callback(lambda _: self._stamp(key, made))
            self._made[key] = (self._now(), made)
            while len(self._made) > _KEPT:
                del self._made[next(iter(self._made))]
        return await asyncio.shield(made)

    def _stamp(self, key: Hashable, made: "asyncio.Future[_Result] | None") -> None:
        """Count the age of a result from its end, so that one that takes long is not made again and again."""
        if made is not None and self._made.get(key, (0.0, None))[1] is made:
            self._made[key] = (self._now(), made)
        if made is not None and not made.cancelled():
            made.exception()  # whoever waits for it gets it; nobody may be left
