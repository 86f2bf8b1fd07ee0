"""The part of a loop that differs per command: what to do next and how to judge it."""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from spool.domain.agent.stream import StreamEvent, Usage
from spool.domain.change.tasks import Boxes
from spool.domain.loop.events import Event
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.plan_memory import PlanMemory
from spool.domain.loop.state import Changes, IterationRecord
from spool.domain.loop.verdict import Finish, Limits, Tally, Verdict
from spool.engine.gates.gatekeeper import CompletionClaim
from spool.engine.gates.own_gates import Gate
from spool.errors import CommandError, CommandTimeout, HookRefused, SpoolError

Memory = TypeVar("Memory", bound=PlanMemory)


class IterationNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the next iteration: in the loop, and in this run."""

    iteration: int
    run_iteration: int


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The results of inspecting the tree after an iteration."""

    commits: tuple[str, ...] = ()
    progress: bool | None = None


class Judgement(msgspec.Struct, Generic[Memory], frozen=True, kw_only=True):
    """The verdict on an iteration, and the plan's new memory."""

    verdict: Verdict
    memory: Memory


def after_failed_commit(memory: Memory, error: CommandError) -> Memory:
    """Return the memory after a commit that failed; a hook's words are for the next prompt."""
    said = error.said if isinstance(error, HookRefused) else ""
    return msgspec.structs.replace(memory, failed_commits=memory.failed_commits + 1, uncommitted=said)


def after_hung_command(record: IterationRecord, error: SpoolError) -> IterationRecord:
    """Return the record after a command of Spool's that failed: one that timed out does not let a story complete."""
    if not isinstance(error, CommandTimeout) or record.story_id is None or not record.completion_found:
        return record
    return msgspec.structs.replace(record, outcome=OutcomeKind.TIMEOUT, reason=error.advice)


class Strategy(Protocol[Memory]):
    """Decides what a loop does. Between iterations a plan keeps only its memory, which the loop saves."""

    @property
    def promise(self) -> str:
        """The text that means completion."""

    @property
    def limits(self) -> Limits:
        """The limits of the loop."""

    @property
    def boxes(self) -> Boxes | None:
        """The boxes of the change when the plan last read it; None if they are unknown."""

    async def resume(self, memory: Memory, *, edited: bool) -> Memory:
        """Return the memory to continue with; `edited` unless the tree is known to be as the last run left it."""

    async def choose(self, memory: Memory) -> Memory | Finish:
        """Choose what to work on next, or finish."""

    async def prepare(self, memory: Memory, place: IterationNumbers) -> str:
        """Prepare the tree for an agent and return its prompt."""

    def event(self, memory: Memory, place: IterationNumbers, said: StreamEvent) -> Event:
        """Return the event that wraps one of the agent's stream events."""

    def gates(self, memory: Memory, record: IterationRecord) -> Sequence[Gate]:
        """Return the gates to run after this outcome; none unless completion is claimed."""

    def claim(self, memory: Memory, record: IterationRecord) -> CompletionClaim | None:
        """Return the claim of completion that the configured gates must judge, if there is one."""

    async def inspect(self, changes: Changes | None) -> Findings:
        """Inspect the tree after the agent has exited."""

    def judge(
        self, memory: Memory, record: IterationRecord, tally: Tally, *, used: Usage, now: float
    ) -> Judgement[Memory]:
        """Decide what follows; `used` is the usage of the whole loop. Pure: the same facts give the same judgement."""

    async def settle(self, memory: Memory) -> Memory:
        """Do the work that is due on the tree. Safe to repeat after a failure or a crash."""

    def conclude(self, finish: Finish) -> Finish:
        """Return the final end of the run, which may override any other, even a stop."""

    async def evidence(self, memory: Memory) -> str:
        """Return the evidence of a finished loop, in one line."""

    async def close(self, finish: Finish, memory: Memory) -> str:
        """Clean up; return the story whose unfinished work is in the tree, if any."""
