"""The system clock and random jitter."""

import random
import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's time and random numbers."""

    def now(self) -> datetime:
        """Return the current time in UTC, to the millisecond."""
        return datetime.fromtimestamp(int(time.time() * 1_000) / 1_000, UTC)

    def monotonic(self) -> float:
        """Return seconds on a clock that never runs backwards."""
        return time.monotonic()

    def jitter(self) -> float:
        """Return a random number from 0 to 1."""
        return random.random()  # noqa: S311 - spreads retries; not for security

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        import asyncio  # quick commands need only the time

        await asyncio.sleep(seconds)
