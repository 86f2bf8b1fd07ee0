"""In what the front doors differ: what comes next, and how it is judged. The loop does everything else."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from spool.domain.events import Event
from spool.domain.loop import PlanState
from spool.domain.state import Changes
from spool.domain.stream import StreamEvent
from spool.domain.verdict import Ended, Finish, Limits, Tally, Verdict
from spool.engine.gates import Gate


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the loop the next iteration is."""

    iteration: int
    run_iteration: int


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan found in the tree after an iteration."""

    commits: tuple[str, ...] = ()
    progress: bool | None = None


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What follows an iteration, and what the plan must remember of it."""

    verdict: Verdict
    memory: PlanState


class Plan(Protocol):
    """What a loop does. A plan keeps nothing between iterations but its memory, which the loop saves."""

    @property
    def promise(self) -> str:
        """The text that means completion."""
        ...

    @property
    def limits(self) -> Limits:
        """When to give up."""
        ...

    async def resume(self, memory: PlanState) -> PlanState:
        """Take up what an earlier run left."""
        ...

    async def choose(self, memory: PlanState) -> PlanState | Finish:
        """Choose what to work on next, or finish."""
        ...

    async def prepare(self, memory: PlanState, place: Place) -> str:
        """Get the tree ready for an agent and return its prompt."""
        ...

    def event(self, memory: PlanState, place: Place, said: StreamEvent) -> Event:
        """Return the event that reports what the agent said or did."""
        ...

    def gates(self, ended: Ended) -> Sequence[Gate]:
        """Return the gates to run after this outcome; none where done is not claimed."""
        ...

    async def inspect(self, changes: Changes | None) -> Findings:
        """Look at what the agent left."""
        ...

    def judge(self, memory: PlanState, ended: Ended, tally: Tally, *, now: float) -> Judgement:
        """Decide what follows. Pure: the same facts give the same judgement, also in a later run."""
        ...

    async def settle(self, memory: PlanState) -> PlanState:
        """Do what is due to the tree. Safe to repeat after a failure or a crash."""
        ...

    def conclude(self, finish: Finish) -> Finish:
        """Have the last word on how the run ends, a stop included."""
        ...

    async def close(self, finish: Finish, memory: PlanState) -> str:
        """Clean up; return the story whose unfinished work is in the tree, if any."""
        ...
