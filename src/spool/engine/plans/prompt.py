"""The plan of `spool ralph` and `wt-loop`: repeats one prompt until the criterion is met."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from spool.domain.change import Change
from spool.domain.criteria import Criterion, Seen, check_tasks, is_progress
from spool.domain.events import AgentEvent, Event, Warned
from spool.domain.loop import PlanState
from spool.domain.outcome import Outcome, OutcomeKind
from spool.domain.prompt import RalphPrompt, build_ralph_prompt
from spool.domain.state import Changes
from spool.domain.stream import StreamEvent
from spool.domain.tasks import parse_tasks
from spool.domain.verdict import UNSEEN, Ended, ExitCode, Finish, Limits, Status, Tally, judge_prompt, refusal_words
from spool.engine.gates import BY_HAND, ByHand, Command, Gate, TaskList
from spool.engine.plan import Findings, Judgement, Place
from spool.engine.ports import Emit
from spool.errors import CommandFailed, CommandTimeout

_Result = TypeVar("_Result")


class Heads(Protocol):
    """Reads the checked-out commit."""

    async def head(self) -> str:
        """Return the checked-out commit; empty before the first commit."""
        ...

    async def commits(self, before: str, after: str) -> tuple[str, ...]:
        """Return the commits in `after` but not in `before`, oldest first."""
        ...


@dataclass(frozen=True, kw_only=True)
class Aim:
    """The task of a loop and its criterion."""

    task: str
    promise: str
    limits: Limits
    criterion: Criterion = Criterion.PROMISE
    command: str = ""
    own_files: tuple[str, ...] = ()
    """Spool's files in the working tree, which do not count as progress."""


@dataclass(frozen=True, kw_only=True)
class World:
    """The functions that the plan calls."""

    read_change: Callable[[], Awaitable[Change]]
    read_context: Callable[[], str]
    run_command: Callable[[str], Awaitable[int | None]]
    """Runs the user's check and returns its exit code; None if it timed out."""
    marked_done: Callable[[], bool]
    """Whether a person marked the work as done."""
    emit: Emit
    jitter: Callable[[], float]
    heads: Heads | None = None
    """Measures commits and progress; None if they are not needed."""
    question_tool: str = ""


class PromptPlan:
    """Builds each prompt from the current change, and judges by the criterion."""

    def __init__(self, aim: Aim, world: World) -> None:
        self.promise = aim.promise
        self.limits = aim.limits
        self._aim = aim
        self._world = world
        self._head_before: str | None = None
        self._ticked_before = 0

    async def resume(self, memory: PlanState, *, edited: bool) -> PlanState:  # noqa: ARG002 - the protocol's
        """Reset the idle count: limits count per run."""
        return msgspec.structs.replace(memory, idle=0)

    async def choose(self, memory: PlanState) -> PlanState | Finish:
        """Finish if the work is already done."""
        if self._world.marked_done():
            return Finish(Status.DONE, BY_HAND, ExitCode.COMPLETE)
        if self._aim.criterion is Criterion.TASKS:
            check = check_tasks((await self._world.read_change()).tasks)
            if check.passed:
                return Finish(Status.DONE, check.why, ExitCode.COMPLETE)
        return memory

    async def prepare(self, memory: PlanState, place: Place) -> str:
        """Return the prompt, after rereading the change and the notes."""
        change = await self._world.read_change()
        if self._world.heads is not None:
            self._head_before = await self._warning(self._world.heads.head())
            self._ticked_before = _ticked(change)
        return build_ralph_prompt(
            RalphPrompt(
                iteration=place.iteration,
                run_iteration=place.run_iteration,
                min_iterations=self.limits.min_iterations,
                max_iterations=self.limits.max_iterations,
                promise=self.promise,
                change=change,
                user_prompt=self._aim.task,
                context=self._world.read_context(),
                refusal=memory.refusal,
                uncommitted=memory.uncommitted,
                question_tool=self._world.question_tool,
            ),
            ending=ending(self._aim),
        )

    def event(self, memory: PlanState, place: Place, said: StreamEvent) -> Event:  # noqa: ARG002 - the protocol's
        """Return a stream event with its iteration."""
        return AgentEvent(iteration=place.iteration, event=said)

    def gates(self, memory: PlanState, ended: Ended) -> Sequence[Gate]:  # noqa: ARG002 - the protocol's
        """Return the criterion as a gate; a promise needs none."""
        if ended.outcome.kind in UNSEEN:
            return ()
        if self._world.marked_done():
            return (ByHand(done=True),)
        match self._aim.criterion:
            case Criterion.TASKS:
                return (TaskList(self._read_tasks),)
            case Criterion.COMMAND:
                return (Command(self._aim.command, self._world.run_command),)
            case Criterion.MANUAL:
                return (ByHand(done=False),)
            case Criterion.PROMISE:
                return ()

    async def inspect(self, changes: Changes | None) -> Findings:
        """Return the commits of an iteration, and whether it made progress."""
        heads = self._world.heads
        if heads is None:
            return Findings()
        after = await self._warning(heads.head())
        moved = None not in (after, self._head_before) and after != self._head_before
        commits = (await self._warning(heads.commits(self._head_before or "", after or "")) or ()) if moved else ()
        changed = changes.count if changes else None
        if changes and changed:
            changed -= sum(name in self._aim.own_files for name in changes.files)
        ticked = _ticked(await self._world.read_change()) - self._ticked_before
        return Findings(
            commits=commits, progress=is_progress(Seen(head_moved=moved, changed_files=changed, ticked=ticked))
        )

    def judge(self, memory: PlanState, ended: Ended, tally: Tally, *, now: float) -> Judgement:
        """Decide by the criterion and the limits."""
        if ended.outcome.kind not in UNSEEN:
            idle = memory.idle + 1 if ended.progress is False else 0
            memory = msgspec.structs.replace(memory, idle=idle, refusal=self._refusal(ended.outcome))
        promised = self._aim.criterion is Criterion.PROMISE and ended.outcome.kind is OutcomeKind.COMPLETED
        done = "the agent kept its promise" if promised else ended.gates[-1].why if ended.accepted else ""
        verdict = judge_prompt(
            ended, tally, self.limits, done=done, idle=memory.idle, now=now, jitter=self._world.jitter
        )
        return Judgement(verdict=verdict, memory=memory)

    def _refusal(self, outcome: Outcome) -> str:
        """Return what the agent must hear about its last promise, where one is asked for."""
        asked = self._aim.criterion is Criterion.PROMISE
        return refusal_words(outcome.refused) if asked and outcome.refused else ""

    async def settle(self, memory: PlanState) -> PlanState:
        """Return the memory unchanged: nothing is ever due."""
        return memory

    def conclude(self, finish: Finish) -> Finish:
        """End as done if a person marked it so, even after a stop."""
        return Finish(Status.DONE, BY_HAND, ExitCode.COMPLETE) if self._world.marked_done() else finish

    async def close(self, finish: Finish, memory: PlanState) -> str:  # noqa: ARG002 - the protocol's signature
        """Return an empty string: there is nothing to clean up."""
        return ""

    async def _read_tasks(self) -> str | None:
        return (await self._world.read_change()).tasks

    async def _warning(self, work: Awaitable[_Result]) -> _Result | None:
        """Await a git command; on failure, warn and return None."""
        try:
            return await work
        except (CommandTimeout, CommandFailed) as error:
            self._world.emit(Warned(message=str(error), hint=error.hint))
            return None


def _ticked(change: Change) -> int:
    return parse_tasks(change.tasks or "").done_count


def ending(aim: Aim) -> str:
    """Return the end of the prompt, which states when the loop ends; empty if the criterion is a promise."""
    match aim.criterion:
        case Criterion.PROMISE:
            return ""
        case Criterion.TASKS:
            rule = "The loop ends when every box of the task list is ticked, and not before."
        case Criterion.COMMAND:
            rule = f"The loop ends when this command succeeds:\n\n    {aim.command}"
        case Criterion.MANUAL:
            rule = "A person decides when this is done. Until then, find the next most useful piece of work."
    files = ", ".join(f"`{name}`" for name in aim.own_files)
    leave = f"Leave these files alone; they belong to the loop: {files}." if files else ""
    return f"## When this is done\n\n{rule}" + (f"\n\n{leave}" if leave else "")
