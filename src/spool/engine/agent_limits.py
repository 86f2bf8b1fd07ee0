"""Checks whether a running agent has reached a limit of time, silence, output or budget."""

from collections.abc import Callable

from spool.domain.agent.invocation import Patience
from spool.domain.agent.stream import Usage
from spool.domain.loop.budget import Exceeded, Limit
from spool.domain.loop.outcome import StopCause
from spool.engine.agent_transcript import AgentTranscript
from spool.engine.ports import Clock

TICK_S = 0.25
IDLE_TICK_S = 2.0
"""The longest tick once an agent has been silent for `_SETTLED_S`: each takes a runner 0.25 ms."""
_SETTLED_S = 10.0


class AgentLimits:
    """Counts an agent's time in ticks, so that suspending the machine or the runner causes no timeout."""

    def __init__(self, patience: Patience, clock: Clock) -> None:
        self._patience = patience
        self._clock = clock
        self._last = clock.monotonic()
        self._quiet_s = 0.0
        self.elapsed_s = 0.0
        self.tick_s = TICK_S
        """Seconds until the next tick; a memory limit is checked more often."""

    def tick(self, *, heard: bool) -> None:
        """Add the time since the last tick; a gap counts as two ticks at most."""
        now = self._clock.monotonic()
        passed = min(max(0.0, now - self._last), 2 * self.tick_s)
        self._last = now
        self.elapsed_s += passed
        self._quiet_s = 0.0 if heard else self._quiet_s + passed
        settled = self._quiet_s >= _SETTLED_S and not self._patience.memory_bytes
        self.tick_s = max(TICK_S, min(IDLE_TICK_S, self._left_s())) if settled else TICK_S

    def _left_s(self) -> float:
        """Return the seconds until the next limit of a silent agent."""
        quiet = (self._patience.idle_s, self._patience.promise_grace_s)
        left = [limit - self._quiet_s for limit in quiet if limit and limit > self._quiet_s]
        return min([*left, (self._patience.iteration_s or float("inf")) - self.elapsed_s])

    @property
    def quiet(self) -> bool:
        """Whether the agent has been silent for at least one tick."""
        return self._quiet_s >= TICK_S

    def verdict(self, *, promised: bool, printed: int) -> StopCause | None:
        """Return why the agent must stop now, or None."""
        if self._patience.output_bytes and printed > self._patience.output_bytes:
            return StopCause.OUTPUT
        if promised and self._patience.promise_grace_s and self._quiet_s >= self._patience.promise_grace_s:
            return StopCause.PROMISED
        if self._patience.iteration_s and self.elapsed_s >= self._patience.iteration_s:
            return StopCause.WALL
        if self._patience.idle_s and self._quiet_s >= self._patience.idle_s:
            return StopCause.IDLE
        return None


class BudgetWatch:
    """Checks a budget while an agent runs."""

    def __init__(self, exceeded: Callable[[Usage], Exceeded | None]) -> None:
        self._exceeded = exceeded
        self.found: Exceeded | None = None

    def verdict(self, transcript: AgentTranscript) -> StopCause | None:
        """Return why the agent must stop now, or None.

        One that has just promised may exit by itself, and one that has reported its end spends only time.
        """
        self.found = self._exceeded(transcript.usage)
        if self.found is None or transcript.promised or (transcript.over and self.found.limit is not Limit.DURATION):
            return None
        return StopCause.BUDGET
