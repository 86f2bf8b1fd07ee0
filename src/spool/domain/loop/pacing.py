"""Computes the pause before the next iteration, in seconds. Nothing here waits."""

from collections.abc import Callable

import msgspec

PAUSE_FROM = 3
"""Consecutive errors before the first pause: one or two are normal."""

LONGEST_WAIT_S = 6 * 3_600.0
"""Try again after this time, however far away the reported reset is."""


_CLOCKS_DIFFER_S = 60.0
_LEAST_S = 1.0
_MOST_SPREAD_S = 30.0


class RateLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A rate limit that a loop has met, for all loops with the same agent. Times are seconds since the epoch."""

    until: float
    noted_at: float
    reason: str = ""
    by: str = ""
    """The state folder of the loop that met it. That loop itself tries again when a person starts it."""


def shared_wait_s(limit: RateLimit | None, *, now: float, jitter: Callable[[], float]) -> float:
    """Return how long to wait for a rate limit that another loop has met; 0 if it is over.

    One that was noted in the future is not believed: a clock was set back.
    """
    if limit is None or limit.noted_at > now + _CLOCKS_DIFFER_S or not limit.until - now >= _LEAST_S:
        return 0.0
    seconds = min(LONGEST_WAIT_S, limit.until - now)
    return seconds + min(_MOST_SPREAD_S, 0.1 * seconds) * jitter()


def error_pause_s(errors_in_row: int, *, base_s: float, longest_s: float = 60.0) -> float:
    """Return the pause after consecutive failed iterations: it doubles from the third on."""
    if errors_in_row < PAUSE_FROM:
        return 0.0
    return float(min(longest_s, base_s * 2 ** min(errors_in_row - PAUSE_FROM, 30)))


def rate_limit_wait_s(
    waits_in_row: int,
    *,
    now: float,
    retry_after_s: float | None,
    resets_at: float | None,
    jitter: Callable[[], float],
    base_s: float = 30.0,
    longest_s: float = 3_600.0,
) -> float:
    """Return how long to wait for a rate limit: until its reset if the agent reported one, else doubling.

    `jitter` returns a number from 0 to 1, so that loops limited together do not all retry together.
    """
    spread = 1.0 + 0.1 * jitter()
    if resets_at is not None and resets_at > now:
        return min(LONGEST_WAIT_S, resets_at - now) + spread
    if retry_after_s is not None:
        return min(LONGEST_WAIT_S, max(1.0, retry_after_s)) * spread
    return float(min(longest_s, base_s * 2 ** min(waits_in_row, 20))) * spread
