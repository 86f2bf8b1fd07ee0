"""The plan of `wt-loop`: one task, again and again, until its criterion says that it is done."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from spool.domain.change import Change
from spool.domain.criteria import (
    Bounds,
    Criterion,
    DoneCheck,
    Seen,
    check_command,
    check_promise,
    check_tasks,
    exit_reason,
    is_progress,
    judge_worktree,
    over_budget,
)
from spool.domain.events import AgentEvent, Event, Warned
from spool.domain.outcome import Outcome, OutcomeKind
from spool.domain.prompt import RalphPrompt, build_ralph_prompt
from spool.domain.state import IterationRecord
from spool.domain.stream import StreamEvent, Usage
from spool.domain.tasks import parse_tasks
from spool.domain.verdict import ExitCode, Finish, Limits, Status, Tally, Verdict
from spool.engine.plan import Place
from spool.engine.ports import Clock, Emit
from spool.errors import CommandFailed, CommandTimeout

_Result = TypeVar("_Result")
_UNSEEN = (OutcomeKind.INTERRUPTED, OutcomeKind.RATE_LIMITED)


class Heads(Protocol):
    """Tells what was committed."""

    async def head(self) -> str:
        """Return the commit that is checked out; nothing where there is none yet."""
        ...

    async def commits(self, before: str, after: str) -> tuple[str, ...]:
        """Return the commits that `after` has and `before` has not, the oldest first."""
        ...


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What the plan found out about an iteration, for the loop's file."""

    iteration: int
    exit_reason: str
    commits: tuple[str, ...]
    check: DoneCheck | None
    progress: bool


class Book(Protocol):
    """The loop's file, as the plan needs it."""

    def judged(self, judged: Judged) -> None:
        """Note what was found out about an iteration."""
        ...

    def last(self) -> IterationRecord | None:
        """Return the iteration that was recorded last."""
        ...

    def used(self) -> Usage:
        """Return what all iterations used."""
        ...

    def marked_done(self) -> bool:
        """Whether a person has said that the work is done."""
        ...


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What the loop is for, and when it ends."""

    task: str
    criterion: Criterion
    bounds: Bounds
    promise: str
    command: str = ""
    own_files: tuple[str, ...] = ()
    """Files of ours in the working tree; they are no progress."""


@dataclass(frozen=True, kw_only=True)
class World:
    """What the plan needs of the world."""

    heads: Heads
    book: Book
    read_change: Callable[[], Awaitable[Change]]
    read_context: Callable[[], str]
    run_command: Callable[[str], Awaitable[int | None]]
    """Runs the user's own check; None if it did not end in time."""
    emit: Emit
    clock: Clock
    question_tool: str = ""


class WorktreePlan:
    """Asks for the task anew each time, and looks by itself whether it is done."""

    story = None

    def __init__(self, aim: Aim, world: World) -> None:
        self._aim = aim
        self._world = world
        self._before: str | None = None
        self._ticked = 0
        self._idle = 0
        self._unjudged: int | None = None

    @property
    def promise(self) -> str:
        """The text that means completion."""
        return self._aim.promise

    @property
    def limits(self) -> Limits:
        """When to give up."""
        return self._aim.bounds.limits

    async def prepare(self, place: Place) -> str | Finish:
        """Return the prompt, with the change read anew, unless there is nothing left to do."""
        change = await self._world.read_change()
        if finish := self._nothing_to_do(change):
            return finish
        self._before = await self._safely(self._world.heads.head())
        self._ticked = _ticked(change)
        self._unjudged = place.iteration
        return build_ralph_prompt(
            RalphPrompt(
                iteration=place.iteration,
                run_iteration=place.run_iteration,
                min_iterations=1,
                max_iterations=self.limits.max_iterations,
                promise=self._aim.promise,
                change=change,
                user_prompt=self._aim.task,
                context=self._world.read_context(),
                question_tool=self._world.question_tool,
            ),
            ending=ending(self._aim),
        )

    def tell(self, place: Place, event: StreamEvent) -> Event:
        """Report what the agent said or did."""
        return AgentEvent(iteration=place.iteration, event=event)

    async def judge(self, outcome: Outcome, tally: Tally) -> Verdict:
        """Look at what the agent left, note it, and decide by the criterion and the bounds."""
        change = await self._world.read_change()
        moved, commits = await self._commits()
        progress = self._progress(change, moved=moved)
        check = await self._check(outcome, change)
        if outcome.kind not in _UNSEEN:
            self._idle = 0 if progress else self._idle + 1
        self._note(exit_reason(outcome), commits, check, progress=progress)
        return judge_worktree(
            outcome,
            tally,
            self._aim.bounds,
            check,
            idle=self._idle,
            used=self._world.book.used(),
            now=self._world.clock.now().timestamp(),
            jitter=self._world.clock.jitter,
        )

    def conclude(self, finish: Finish) -> Finish:
        """What a person called done is done, though a stop did not wait for the iteration."""
        return Finish(Status.DONE, _BY_HAND, ExitCode.COMPLETE) if self._world.book.marked_done() else finish

    async def close(self, finish: Finish) -> str:  # noqa: ARG002 - the protocol's signature
        """Note the commits of an iteration that a stop left unjudged."""
        if self._unjudged is not None and (record := self._world.book.last()):
            moved, commits = await self._commits()
            progress = self._progress(await self._world.read_change(), moved=moved)
            self._note(str(record.outcome), commits, None, progress=progress)
        return ""

    def _nothing_to_do(self, change: Change) -> Finish | None:
        if self._world.book.marked_done():
            return Finish(Status.DONE, _BY_HAND, ExitCode.COMPLETE)
        if self._aim.criterion is Criterion.TASKS and (check := check_tasks(change.tasks)).done:
            return Finish(Status.DONE, check.why, ExitCode.COMPLETE)
        if spent := over_budget(self._aim.bounds, self._world.book.used()):
            return Finish(Status.STUCK, spent, ExitCode.STUCK)
        return None

    async def _check(self, outcome: Outcome, change: Change) -> DoneCheck:
        if self._world.book.marked_done():
            return DoneCheck(done=True, why=_BY_HAND)
        match self._aim.criterion:
            case Criterion.TASKS:
                return check_tasks(change.tasks)
            case Criterion.PROMISE:
                return check_promise(outcome)
            case Criterion.COMMAND if outcome.kind not in _UNSEEN:
                return check_command(self._aim.command, await self._world.run_command(self._aim.command))
            case Criterion.COMMAND:
                return DoneCheck(done=False, why=f"'{self._aim.command}' was not run")
            case Criterion.MANUAL:
                return DoneCheck(done=False, why="a person decides")

    async def _commits(self) -> tuple[bool, tuple[str, ...]]:
        """Return whether HEAD has moved, and the commits it has gained."""
        after = await self._safely(self._world.heads.head())
        if after is None or self._before is None or after == self._before:
            return False, ()
        return True, await self._safely(self._world.heads.commits(self._before, after)) or ()

    def _progress(self, change: Change, *, moved: bool) -> bool:
        record = self._world.book.last()
        changed = record.changed_files if record else 0
        if record and changed:
            changed -= sum(name in self._aim.own_files for name in record.files)
        ticked = _ticked(change) - self._ticked
        return is_progress(Seen(head_moved=moved, changed_files=changed, ticked=ticked))

    def _note(self, reason: str, commits: tuple[str, ...], check: DoneCheck | None, *, progress: bool) -> None:
        if self._unjudged is not None:
            self._world.book.judged(
                Judged(iteration=self._unjudged, exit_reason=reason, commits=commits, check=check, progress=progress)
            )
            self._unjudged = None

    async def _safely(self, work: Awaitable[_Result]) -> _Result | None:
        """Await git's account; one that fails costs a warning, not the loop."""
        try:
            return await work
        except (CommandTimeout, CommandFailed) as error:
            self._world.emit(Warned(message=error.advice))
            return None


_BY_HAND = "a person said that it is done"


def _ticked(change: Change) -> int:
    return parse_tasks(change.tasks or "").done_count


def ending(aim: Aim) -> str:
    """Return the end of the prompt: what ends the loop. Only where a promise is the criterion one is asked for."""
    match aim.criterion:
        case Criterion.PROMISE:
            return ""
        case Criterion.TASKS:
            rule = "The loop ends by itself when every box of the task list is ticked, and not before."
        case Criterion.COMMAND:
            rule = f"The loop ends by itself when this command succeeds:\n\n    {aim.command}"
        case Criterion.MANUAL:
            rule = "A person decides when this is done. Until then find the next most useful piece of work."
    leave = "Leave `.claude/loop-state.json` and the `ralph-` files beside it alone; they belong to the loop."
    return f"## When this is done\n\n{rule}\n\n{leave}"
