"""The real clock, and real chance."""

import random
import time
from datetime import UTC, datetime


class SystemClock:
    """Time and chance as the machine has them."""

    def now(self) -> datetime:
        """Return the wall clock's time, in UTC, to the millisecond."""
        return datetime.fromtimestamp(int(time.time() * 1_000) / 1_000, UTC)

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.monotonic()

    def jitter(self) -> float:
        """Return a random number from 0 to 1."""
        return random.random()  # noqa: S311 - spreads retries, guards nothing

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        import asyncio  # a quick command asks only for the time

        await asyncio.sleep(seconds)
