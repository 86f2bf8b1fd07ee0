"""The plan of `spool ralph` and `wt-loop`: repeats one prompt until the criterion is met."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from spool.domain.change import Change
from spool.domain.criteria import Criterion, Seen, check_tasks, is_progress, remembered
from spool.domain.events import AgentEvent, Event, Warned
from spool.domain.gates.values import Proof, failing_in, refusal
from spool.domain.gates.words import evidence
from spool.domain.loop import PlanState, merged
from spool.domain.outcome import Outcome, OutcomeKind
from spool.domain.prompt import RalphPrompt, build_ralph_prompt
from spool.domain.state import Changes
from spool.domain.story import parse_stories
from spool.domain.stream import StreamEvent
from spool.domain.tasks import Boxes, parse_tasks
from spool.domain.text import counted
from spool.domain.verdict import (
    UNSEEN,
    Ended,
    ExitCode,
    Finish,
    Limits,
    Status,
    Tally,
    judge_prompt,
    refusal_words,
    unverifiable,
)
from spool.engine.gatekeeper import Claim, Gatekeeper
from spool.engine.gates import BY_HAND, ByHand, Command, Gate, TaskList
from spool.engine.plan import Findings, Judgement, Place
from spool.engine.ports import Emit
from spool.engine.task_book import TaskBook
from spool.errors import ChangeError, CommandFailed, CommandTimeout

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
    own_folders: tuple[str, ...] = ()
    """The folders of the change and of Spool, which do not count as work."""


@dataclass(frozen=True, kw_only=True)
class World:
    """The functions that the plan calls."""

    read_change: Callable[[], Awaitable[Change]]
    read_context: Callable[[], str]
    run_command: Callable[[], Awaitable[int | None]]
    """Runs the user's check and returns its exit code; None if it timed out."""
    book: TaskBook
    marked_done: Callable[[], bool]
    """Whether a person marked the work as done."""
    emit: Emit
    jitter: Callable[[], float]
    heads: Heads | None = None
    """Measures commits and progress; None if they are not needed."""
    keeper: Gatekeeper | None = None
    """The configured gates."""
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
        self._seen: tuple[str, ...] = ()
        self.boxes: Boxes | None = None

    async def resume(self, memory: PlanState, *, edited: bool) -> PlanState:  # noqa: ARG002 - the protocol's
        """Reset the idle count: limits count per run."""
        return msgspec.structs.replace(memory, idle=0)

    async def choose(self, memory: PlanState) -> PlanState | Finish:
        """Finish if the work is already done."""
        if self._world.marked_done():
            return Finish(Status.DONE, BY_HAND, ExitCode.COMPLETE)
        if self._aim.criterion is Criterion.TASKS:
            check = check_tasks((await self._world.read_change()).tasks, self._world.book.ledger)
            untouched = self._world.keeper is None or not (memory.changed or memory.refusal)
            if check.passed and untouched:  # else the gates decide after the next iteration
                return Finish(Status.DONE, check.why, ExitCode.COMPLETE)
        return memory

    async def prepare(self, memory: PlanState, place: Place) -> str:
        """Return the prompt, after rereading the change and the notes."""
        change = await self._world.read_change()
        self._count(change)
        if self._world.heads is not None:
            self._head_before = await self._warning(self._world.heads.head())
            self._ticked_before = _ticked(change)
            self._seen = memory.seen
        if self._counts_boxes:
            self._world.book.before_agent(parse_stories(change.tasks or ""), f"{change.proposal}\n{change.tasks or ''}")
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
                idle=memory.idle if memory.idle == self.limits.stall - 1 else 0,
                checks=self._world.keeper.brief(memory.base) if self._world.keeper else "",
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
                return (TaskList(self._read_tasks, self._world.book),)
            case Criterion.COMMAND:
                return (Command(self._aim.command, self._world.run_command),)
            case Criterion.MANUAL:
                return (ByHand(done=False),)
            case Criterion.PROMISE:
                return ()

    def claim(self, memory: PlanState, ended: Ended) -> Claim | None:
        """Return a claim if the criterion is met; a person's word needs no gate."""
        if ended.outcome.kind in UNSEEN or self._world.marked_done() or not (self._promised(ended) or ended.accepted):
            return None
        texts = self._world.book.texts if self._counts_boxes else ""
        return Claim(base=memory.base, own=self._aim.own_folders, named=texts)

    async def inspect(self, changes: Changes | None) -> Findings:
        """Return the commits of an iteration, and whether it made progress."""
        try:
            self._count(await self._world.read_change())
        except ChangeError:  # the agent removed its change, or is rewriting it
            self.boxes = None
        if self._counts_boxes:
            self._world.book.after_agent(parse_stories(await self._read_tasks() or ""))
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
        before, after_tree = changes.trees if changes and changes.trees else ("", "")
        came_back = before != after_tree and after_tree in self._seen
        seen = Seen(head_moved=moved, changed_files=changed, ticked=ticked, came_back=came_back)
        return Findings(commits=commits, progress=is_progress(seen))

    def _count(self, change: Change) -> None:
        self.boxes = parse_tasks(change.tasks).boxes if change.tasks else None

    def judge(self, memory: PlanState, ended: Ended, tally: Tally, *, now: float) -> Judgement:
        """Decide by the criterion and the limits."""
        refused = refusal(ended.gates)
        if ended.outcome.kind not in UNSEEN:
            memory = msgspec.structs.replace(
                memory,
                refusal=refused.tell_agent if refused else self._refusal(ended.outcome),
                unverifiable=memory.unverifiable + 1 if ended.proof is Proof.UNVERIFIABLE else 0,
                changed=memory.changed or ended.changed_files != 0,
                leavings=merged(memory.leavings, ended.leavings),
            )
            if ended.progress is not None:
                failing = failing_in(ended.gates) if ended.proof is Proof.REFUSED else None
                fewer = failing is not None and memory.failing is not None and failing < memory.failing
                memory = msgspec.structs.replace(
                    memory,
                    idle=0 if ended.progress or fewer else memory.idle + 1,
                    failing=memory.failing if failing is None else failing,
                    seen=remembered(memory.seen, ended.trees),
                )
        if finish := unverifiable(ended, memory.unverifiable):
            return Judgement(verdict=finish, memory=memory)
        done = ""
        if refused is None and (self._promised(ended) or ended.accepted):
            done = "the agent kept its promise" if self._promised(ended) else ended.gates[0].why
            memory = msgspec.structs.replace(memory, proof=ended.proof, evidence=evidence(ended.gates))
        verdict = judge_prompt(
            ended,
            tally,
            self.limits,
            done=done,
            certain=not self._promised(ended),
            idle=memory.idle,
            now=now,
            jitter=self._world.jitter,
        )
        return Judgement(verdict=verdict, memory=memory)

    def _promised(self, ended: Ended) -> bool:
        return self._aim.criterion is Criterion.PROMISE and ended.outcome.kind is OutcomeKind.COMPLETED

    @property
    def _counts_boxes(self) -> bool:
        return self._world.keeper is not None or self._aim.criterion is Criterion.TASKS

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

    async def evidence(self, memory: PlanState) -> str:
        """Return what the gates found; without gates, what stands against the agent's word."""
        if memory.evidence:
            return memory.evidence
        tasks = parse_tasks((await self._world.read_change()).tasks or "")
        still_open = sum(not task.boxless for task in tasks.open)
        boxes = [f"{still_open} of {counted(len(tasks.tasks), 'box', 'boxes')} open"] if still_open else []
        return ", ".join([*boxes, *([] if memory.changed else ["nothing changed"]), "nothing checked"])

    async def close(self, finish: Finish, memory: PlanState) -> str:  # noqa: ARG002 - the protocol's signature
        """Note what has no box as done with the rest."""
        if finish.status is Status.DONE and (tasks := await self._read_tasks()):
            for story in parse_stories(tasks).stories:
                self._world.book.accept(story)
            self.boxes = parse_tasks(tasks).accepted
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
