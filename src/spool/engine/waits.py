"""The waits of a loop: for a rate limit of its own or of another loop, and after errors."""

from datetime import timedelta

from spool.domain.loop.events import Waiting
from spool.domain.loop.pacing import RateLimit, shared_wait_s
from spool.domain.loop.summary import Phase
from spool.domain.loop.verdict import Finish, Limits, postponed
from spool.engine.ports import Ports
from spool.engine.spending import Spending
from spool.engine.state_writer import StateWriter
from spool.engine.stop_request import Stop

_SLICE_S = 30.0


class Waits:
    """Waits, and says so, until the time is over or a stop is requested."""

    def __init__(self, account: StateWriter, spending: Spending, ports: Ports, stop: Stop, *, harness: str) -> None:
        self._account = account
        self._spending = spending
        self._ports = ports
        self._stop = stop
        self._harness = harness

    async def for_limit(self, seconds: float, reason: str) -> Finish | None:
        """Wait for a rate limit, or end, and note it for the other loops with the same agent."""
        now = self._ports.clock.now().timestamp()
        limit = RateLimit(until=now + seconds, noted_at=now, reason=reason, by=self._account.state.folder)
        self._ports.rate_limits.note(self._harness, limit)
        return await self._wait_or_end(seconds, f"rate limit: {reason}")

    async def with_others(self, limits: Limits) -> bool | Finish:
        """Wait for a rate limit that another loop with the same agent has met, or end; return whether there was one."""
        limit = self._ports.rate_limits.known(self._harness) if limits.rate_limit_pause_s else None
        if limit is None or limit.by == self._account.state.folder:
            return False
        now, jitter = self._ports.clock.now().timestamp(), self._ports.clock.jitter
        seconds = shared_wait_s(limit, now=now, jitter=jitter)
        if seconds:
            why = f": {limit.reason}" if limit.reason else ""
            met = f"rate limit, met by another loop with {self._harness}{why}"
            return await self._wait_or_end(seconds, met) or True
        return False

    async def after_errors(self, seconds: float, errors: int) -> None:
        """Pause after consecutive errors."""
        await self._wait(seconds, f"{errors} failed iterations in a row", Phase.PAUSING)

    async def _wait_or_end(self, seconds: float, reason: str) -> Finish | None:
        if not self._ports.admission.waits:
            return postponed(reason, self._ports.clock.now() + timedelta(seconds=seconds))
        await self._wait(seconds, reason, Phase.WAITING)
        return None

    async def _wait(self, seconds: float, reason: str, phase: Phase) -> None:
        seconds = self._spending.at_most(seconds)
        clock, began = self._ports.clock, self._ports.clock.monotonic()
        until, until_s = clock.now() + timedelta(seconds=seconds), began + seconds
        self._account.save(phase=phase, waiting_until=until)
        self._ports.emit(Waiting(seconds=round(seconds, 3), until=until, reason=reason))
        # In slices, until either clock reaches its end: with the wall clock, a laptop that slept through the reset does
        # not wait again; with the monotonic clock, setting the wall clock back does not turn a second into an hour.
        while (left_s := min((until - clock.now()).total_seconds(), until_s - clock.monotonic())) > 0:
            if await self._stop.interrupts(clock.sleep(min(left_s, _SLICE_S))):
                break
        self._account.count_wait(round(clock.monotonic() - began, 3))
