"""The plan of `spool ralph` and `wt-loop`: repeats one prompt until the criterion is met."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import msgspec

from spool.domain.agent.stream import StreamEvent, Usage
from spool.domain.change.change import Change
from spool.domain.change.story import parse_stories
from spool.domain.change.tasks import Boxes, parse_tasks
from spool.domain.judging.gates.findings import evidence
from spool.domain.judging.gates.gate import Proof, failing_in, refusal
from spool.domain.loop.checkpoint import Beginning
from spool.domain.loop.criteria import Criterion, ProgressTraces, check_tasks, is_progress, remembered
from spool.domain.loop.events import AgentEvent, Event, Warned
from spool.domain.loop.outcome import OutcomeKind, Refusal
from spool.domain.loop.plan_memory import PromptMemory, merged
from spool.domain.loop.prompt import RalphPrompt, build_ralph_prompt
from spool.domain.loop.state import Changes, IterationRecord
from spool.domain.loop.verdict import (
    UNSEEN,
    ExitCode,
    Finish,
    Limits,
    Status,
    Tally,
    judge_prompt,
    needs_person,
    refusal_words,
    unverifiable,
)
from spool.domain.text.plain_text import counted
from spool.engine.gates.gatekeeper import CompletionClaim, Gatekeeper
from spool.engine.gates.own_gates import BY_HAND, BoxesGate, ByHand, Command, Gate
from spool.engine.gates.task_book import TaskBook
from spool.engine.losses import LossReport, not_kept
from spool.engine.plans.strategy import Findings, IterationNumbers, Judgement
from spool.engine.ports import Emit, KeptBeginnings
from spool.errors import ChangeError, CommandError, SpoolError

_Result = TypeVar("_Result")


class Heads(Protocol):
    """Reads the checked-out commit."""

    async def head(self) -> str:
        """Return the checked-out commit; empty before the first commit."""
        ...

    async def commits(self, before: str, after: str) -> tuple[str, ...]:
        """Return the commits in `after` but not in `before`, oldest first."""
        ...


@dataclass(kw_only=True)
class PromptPlan:
    """Builds each prompt from the current change, and judges by the criterion."""

    task: str
    promise: str
    limits: Limits
    read_change: Callable[[], Awaitable[Change]]
    read_context: Callable[[], str]
    run_command: Callable[[], Awaitable[int | None]]
    """Runs the user's check and returns its exit code; None if it timed out."""
    book: TaskBook
    marked_done: Callable[[], bool]
    """Whether a person marked the work as done."""
    emit: Emit
    jitter: Callable[[], float]
    criterion: Criterion = Criterion.PROMISE
    command: str = ""
    own_files: tuple[str, ...] = ()
    """Spool's files in the working tree, which do not count as progress."""
    own_folders: tuple[str, ...] = ()
    """The folders of the change and of Spool, which do not count as work."""
    heads: Heads | None = None
    """Measures commits and progress; None without git."""
    keeper: Gatekeeper | None = None
    """The configured gates."""
    question_tool: str = ""
    beginnings: KeptBeginnings | None = None
    """Keeps the tree before the run; None without git."""
    boxes: Boxes | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._head_before: str | None = None
        self._ticked_before = 0
        self._seen: tuple[str, ...] = ()
        own = self.own_folders
        self._losses = LossReport(self.beginnings, self.emit, own=own) if self.beginnings else None

    async def resume(self, memory: PromptMemory, *, edited: bool) -> PromptMemory:  # noqa: ARG002 - the protocol's
        """Keep the tree as it is before the run, and reset the idle count: limits count per run."""
        if self._losses is not None:
            await self._begin(self._losses)
        return msgspec.structs.replace(memory, idle=0, begun=self._losses is not None)

    async def _begin(self, losses: LossReport) -> None:
        """Keep the tree; if that fails, the loop runs all the same, and says what that means."""
        try:
            for warning in await losses.beginnings.begin_run(anew=True):
                self.emit(Warned(message=warning))
        except SpoolError as error:
            self.emit(not_kept(error))
            self._losses = None

    async def choose(self, memory: PromptMemory) -> PromptMemory | Finish:
        """Finish if the work is already done."""
        if self.marked_done():
            return Finish(Status.DONE, BY_HAND, ExitCode.COMPLETE)
        if self.criterion is Criterion.TASKS:
            check = check_tasks((await self.read_change()).tasks, self.book.ledger)
            untouched = self.keeper is None or not (memory.changed or memory.refusal)
            if check.passed and untouched:  # else the gates decide after the next iteration
                return Finish(Status.DONE, check.why, ExitCode.COMPLETE)
        return memory

    async def prepare(self, memory: PromptMemory, place: IterationNumbers) -> str:
        """Return the prompt, after rereading the change and the notes."""
        if self._losses is not None:
            await self._warning(self._losses.beginnings.begin_attempt())
        change = await self.read_change()
        self._count(change)
        if self.heads is not None:
            self._head_before = await self._warning(self.heads.head())
            self._ticked_before = _ticked(change)
            self._seen = memory.seen
        if self._counts_boxes:
            self.book.before_agent(parse_stories(change.tasks or ""), f"{change.proposal}\n{change.tasks or ''}")
        return build_ralph_prompt(
            RalphPrompt(
                iteration=place.iteration,
                run_iteration=place.run_iteration,
                min_iterations=self.limits.min_iterations,
                max_iterations=self.limits.max_iterations,
                promise=self.promise,
                change=change,
                user_prompt=self.task,
                context=self.read_context(),
                refusal=memory.refusal,
                uncommitted=memory.uncommitted,
                idle=memory.idle if memory.idle == self.limits.stall - 1 else 0,
                checks=self.keeper.brief(memory.base) if self.keeper else "",
                question_tool=self.question_tool,
            ),
            ending=ending(self.criterion, self.command, self.own_files),
        )

    def event(self, memory: PromptMemory, place: IterationNumbers, said: StreamEvent) -> Event:  # noqa: ARG002 - the protocol's
        """Return a stream event with its iteration."""
        return AgentEvent(iteration=place.iteration, event=said)

    def gates(self, memory: PromptMemory, record: IterationRecord) -> Sequence[Gate]:  # noqa: ARG002 - the protocol's
        """Return the criterion as a gate; a promise needs none."""
        if record.outcome in UNSEEN:
            return ()
        if self.marked_done():
            return (ByHand(done=True),)
        match self.criterion:
            case Criterion.TASKS:
                return (BoxesGate(self._read_tasks, self.book),)
            case Criterion.COMMAND:
                return (Command(self.command, self.run_command),)
            case Criterion.MANUAL:
                return (ByHand(done=False),)
            case Criterion.PROMISE:
                return ()

    def claim(self, memory: PromptMemory, record: IterationRecord) -> CompletionClaim | None:
        """Return a claim if the criterion is met; a person's word needs no gate."""
        met = self._promised(record) or (record.gates and refusal(record.gates) is None)
        if record.outcome in UNSEEN or self.marked_done() or not met:
            return None
        texts = self.book.texts if self._counts_boxes else ""
        return CompletionClaim(base=memory.base, own=self.own_folders, named=texts)

    async def inspect(self, changes: Changes | None) -> Findings:
        """Return the commits of an iteration, and whether it made progress; name a person's files that are gone."""
        if self._losses is not None and (changes is None or changes.count):
            await self._losses.look()
        try:
            self._count(await self.read_change())
        except ChangeError:  # the agent removed its change, or is rewriting it
            self.boxes = None
        if self._counts_boxes:
            self.book.after_agent(parse_stories(await self._read_tasks() or ""))
        if (heads := self.heads) is None:
            return Findings()
        after = await self._warning(heads.head())
        moved = None not in (after, self._head_before) and after != self._head_before
        commits = (await self._warning(heads.commits(self._head_before or "", after or "")) or ()) if moved else ()
        changed = changes.count if changes else None
        if changes and changed:
            changed -= sum(name in self.own_files for name in changes.files)
        ticked = _ticked(await self.read_change()) - self._ticked_before
        before, after_tree = changes.trees if changes and changes.trees else ("", "")
        came_back = before != after_tree and after_tree in self._seen
        seen = ProgressTraces(head_moved=moved, changed_files=changed, ticked=ticked, came_back=came_back)
        return Findings(commits=commits, progress=is_progress(seen))

    def _count(self, change: Change) -> None:
        self.boxes = parse_tasks(change.tasks).boxes if change.tasks else None

    def judge(
        self, memory: PromptMemory, record: IterationRecord, tally: Tally, *, used: Usage, now: float
    ) -> Judgement[PromptMemory]:
        """Decide by the criterion and the limits."""
        refused = refusal(record.gates)
        if record.outcome not in UNSEEN:
            memory = msgspec.structs.replace(
                memory,
                refusal=refused.tell_agent if refused else self._refusal(record.refused),
                unverifiable=memory.unverifiable + 1 if record.proof is Proof.UNVERIFIABLE else 0,
                asking=memory.asking + 1 if refused and refused.needs else 0,
                changed=memory.changed or record.changed_files != 0,
                leavings=merged(memory.leavings, record.leavings),
            )
            if record.progress is not None:
                failing = failing_in(record.gates) if record.proof is Proof.REFUSED else None
                fewer = failing is not None and memory.failing is not None and failing < memory.failing
                memory = msgspec.structs.replace(
                    memory,
                    # Errors have a limit of their own.
                    idle=0 if record.progress or fewer else memory.idle + (not record.as_outcome().is_error),
                    failing=memory.failing if failing is None else failing,
                    seen=remembered(memory.seen, record.trees),
                )
        finish = unverifiable(record.proof, record.gates, memory.unverifiable)
        if finish := finish or needs_person(record.gates, memory.asking):
            return Judgement(verdict=finish, memory=memory)
        done = ""
        if refused is None and (self._promised(record) or record.gates):
            done = "the agent kept its promise" if self._promised(record) else record.gates[0].why
            memory = msgspec.structs.replace(memory, proof=record.proof, evidence=evidence(record.gates))
        verdict = judge_prompt(
            record.as_outcome(),
            tally,
            self.limits,
            refused=refused if record.proof is Proof.REFUSED else None,
            used=used,
            done=done,
            certain=not self._promised(record),
            idle=memory.idle,
            now=now,
            jitter=self.jitter,
        )
        return Judgement(verdict=verdict, memory=memory)

    def _promised(self, record: IterationRecord) -> bool:
        return self.criterion is Criterion.PROMISE and record.outcome is OutcomeKind.COMPLETED

    @property
    def _counts_boxes(self) -> bool:
        return self.keeper is not None or self.criterion is Criterion.TASKS

    def _refusal(self, refused: Refusal | None) -> str:
        """Return what the agent must hear about its last promise, where one is asked for."""
        return refusal_words(refused) if refused and self.criterion is Criterion.PROMISE else ""

    async def settle(self, memory: PromptMemory) -> PromptMemory:
        """Return the memory unchanged: nothing is ever due."""
        return memory

    def conclude(self, finish: Finish) -> Finish:
        """End as done if a person marked it so, even after a stop."""
        return Finish(Status.DONE, BY_HAND, ExitCode.COMPLETE) if self.marked_done() else finish

    async def evidence(self, memory: PromptMemory) -> str:
        """Return the gates' findings; without gates, the objections to the agent's word."""
        if memory.evidence:
            return memory.evidence
        tasks = parse_tasks((await self.read_change()).tasks or "")
        still_open = sum(not task.boxless for task in tasks.open)
        boxes = [f"{still_open} of {counted(len(tasks.tasks), 'box', 'boxes')} open"] if still_open else []
        return ", ".join([*boxes, *([] if memory.changed else ["nothing changed"]), "nothing checked"])

    async def close(self, finish: Finish, memory: PromptMemory) -> str:  # noqa: ARG002 - the protocol's signature
        """Note what has no box as done with the rest."""
        if finish.status is Status.DONE and self._losses is not None:
            await self._losses.beginnings.accept(Beginning.RUN)
        if finish.status is Status.DONE and (tasks := await self._read_tasks()):
            for story in parse_stories(tasks).stories:
                self.book.accept(story)
            self.boxes = parse_tasks(tasks).accepted
        return ""

    async def _read_tasks(self) -> str | None:
        return (await self.read_change()).tasks

    async def _warning(self, work: Awaitable[_Result]) -> _Result | None:
        """Await a git command; on failure, warn and return None."""
        try:
            return await work
        except (CommandError, OSError) as error:  # git itself may be gone
            self.emit(Warned(message=str(error), hint=error.hint if isinstance(error, CommandError) else ""))
            return None


def _ticked(change: Change) -> int:
    return parse_tasks(change.tasks or "").done_count


def ending(criterion: Criterion, command: str, own_files: Sequence[str]) -> str:
    """Return the end of the prompt, which states when the loop ends; empty if the criterion is a promise."""
    match criterion:
        case Criterion.PROMISE:
            return ""
        case Criterion.TASKS:
            rule = "The loop ends when every box of the task list is ticked, and not before."
        case Criterion.COMMAND:
            rule = f"The loop ends when this command succeeds:\n\n    {command}"
        case Criterion.MANUAL:
            rule = "A person decides when this is done. Until then, find the next most useful piece of work."
    files = ", ".join(f"`{name}`" for name in own_files)
    leave = f"Leave these files alone; they belong to the loop: {files}." if files else ""
    return f"## When this is done\n\n{rule}" + (f"\n\n{leave}" if leave else "")
