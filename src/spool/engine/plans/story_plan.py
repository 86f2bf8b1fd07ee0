"""The plan of `spool run`: works story by story, and retries each from its checkpoint."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from spool.domain.agent.stream import StreamEvent, Usage
from spool.domain.change.story import Story, StoryList
from spool.domain.change.tasks import Boxes
from spool.domain.judging.gates.gate import GateResult, Proof, refusal
from spool.domain.judging.promise import DEFAULT_PROMISE
from spool.domain.loop.checkpoint import Beginning, Checkpoint
from spool.domain.loop.events import (
    CheckpointDropped,
    CheckpointSaved,
    Event,
    Reverted,
    StoryDone,
    StoryEvent,
    StoryProgress,
    TreeKept,
    Warned,
)
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.plan_memory import Due, StoryMemory, StoryState, merged
from spool.domain.loop.prompt import StoryPrompt, build_story_prompt
from spool.domain.loop.state import Changes, IterationRecord
from spool.domain.loop.verdict import (
    ExitCode,
    Finish,
    Limits,
    Status,
    Tally,
    judge_story,
    needs_person,
    unverifiable,
)
from spool.domain.text.common_fields import carried
from spool.engine.gates.gatekeeper import CompletionClaim, Gatekeeper
from spool.engine.gates.own_gates import Gate, StoryBoxes
from spool.engine.gates.task_book import TaskBook
from spool.engine.losses import LossReport
from spool.engine.plans.attempt_memory import remember
from spool.engine.plans.story_world import OnResume, StoryCheckpoints, StorySource
from spool.engine.plans.strategy import Findings, IterationNumbers, Judgement, after_failed_commit
from spool.engine.ports import Emit, KeptBeginnings
from spool.errors import ChangeError, CommandError, CommandTimeout, Hint

_UNCHECKED = GateResult(name="tasks", passed=False, why="nothing was checked")
"""The refusal of a claim for which no gate ran."""


@dataclass(kw_only=True)
class StoryPlan:
    """Works through the stories of a change."""

    limits: Limits
    max_retries: int
    on_resume: OnResume
    """What to do with a tree that is as the earlier run left it; one that was edited since is kept."""
    question_tool: str
    learnings: str
    """Path of the file with learnings for later stories."""
    source: StorySource
    checkpoints: StoryCheckpoints
    beginnings: KeptBeginnings
    read_context: Callable[[], str]
    commit: Callable[[str, tuple[str, ...]], Awaitable[str | None]] | None
    """Commits a finished story, but for the files that gates left; None if not wanted."""
    book: TaskBook
    emit: Emit
    jitter: Callable[[], float]
    keeper: Gatekeeper | None = None
    """The configured gates."""
    answer: OnResume | None = None
    """A person's decision for this run, whoever edited the tree."""
    fresh: bool = False
    """Whether to leave the tree alone, with a checkpoint that an earlier run left."""
    own_folders: tuple[str, ...] = ()
    """The folders of the change and of Spool, which do not count as work."""
    promise: str = field(default=DEFAULT_PROMISE, init=False)

    def __post_init__(self) -> None:
        self._known = StoryList()
        self._losses = LossReport(self.beginnings, self.emit, own=self.own_folders)
        self._begun = False
        self._unsaved: tuple[str, ...] = ()  # already warned about
        self._resumed = False
        self._keeps_edits: bool | None = None
        """Whether the tree about to be kept may hold a person's edits; None if no earlier run left it."""

    @property
    def boxes(self) -> Boxes | None:
        """The boxes of the stories, without those that an agent closed without ticking them."""
        return self._known.boxes if self._known.stories else None

    async def resume(self, memory: StoryMemory, *, edited: bool) -> StoryMemory:
        """Return the memory, with a revert or a new checkpoint due if an earlier run left a checkpoint.

        Without an answer a tree is reverted only if nobody can have edited it since the earlier run.
        """
        left = await self.checkpoints.current()
        if left is not None or self.keeper is not None:  # a revert, or a gate, is about to change the tree
            await self._begin()
        if left is not None and self.fresh:
            await self.checkpoints.drop(left)
            return memory
        self._resumed = left is not None  # a person may have worked in the tree since
        decided = not memory.fingerprint or not edited or self.answer is OnResume.REVERT
        if left is None or (memory.due is not Due.NOTHING and decided):
            return memory
        how = self.answer or (OnResume.KEEP if edited else self.on_resume)
        # An interrupted revert left a mixture of two trees, which is never kept.
        if how is OnResume.REVERT or left.half_reverted:
            return msgspec.structs.replace(memory, due=Due.REVERT)
        if not await self.checkpoints.differs(left):
            return msgspec.structs.replace(memory, due=Due.NOTHING)
        self._keeps_edits = edited
        return msgspec.structs.replace(memory, due=Due.KEEP)

    async def _begin(self) -> None:
        """Keep the tree as the run's beginning, once."""
        if self._begun:
            return
        self._unsaved = await self.beginnings.begin_run(anew=self.fresh)
        self._begun = True
        self._warn(self._unsaved)

    async def choose(self, memory: StoryMemory) -> StoryMemory | Finish:
        """Choose the next incomplete story and announce it."""
        found = await self.source.refresh()
        self._warn(self.source.concerns())
        self.book.before_agent(found, await self._texts(found))
        stories = self._known = self.book.honest(found)
        begun = stories.find("" if self.book.closed(memory.unaccepted, found) else memory.unaccepted)
        story = begun or stories.next
        if story is None:
            return self._nothing_left(memory)
        if memory.story is not None and memory.story.id != story.id:
            memory = memory.for_next_story()
        state = StoryState(
            id=story.id,
            title=story.title,
            current=stories.position(story),
            total=len(stories.stories),
            completed=stories.completed - story.complete,
            attempt=memory.retries + 1,
        )
        self._announce(state)
        return msgspec.structs.replace(memory, story=state, unaccepted=story.id, begun=True)

    def _nothing_left(self, memory: StoryMemory) -> Finish:
        """Return the end: done, unless no gate has accepted any work of this run, and one is red."""
        accepted = memory.story is not None and memory.proof is not None
        red = self.keeper.red_at(memory.base) if self.keeper and not accepted else ""
        if red:
            return Finish(
                Status.STUCK, f"no box is open, but a check is red: {red}", ExitCode.STUCK, hint=Hint.OPEN_BOX
            )
        return Finish(Status.DONE, "all stories are complete", ExitCode.COMPLETE)

    async def _texts(self, stories: StoryList) -> str:
        """Return what the change says, before the first agent."""
        if self.book.texts:
            return ""
        return "\n".join([(await self.source.prompt_parts()).proposal, *(one.text for one in stories.stories)])

    async def _honest(self) -> StoryList:
        """Return the current stories, with boxes that an agent closed without ticking them still open."""
        self._known = self.book.honest(await self.source.stories())
        return self._known

    async def prepare(self, memory: StoryMemory, place: IterationNumbers) -> str:
        """Save a checkpoint, unless there is one of this attempt, and return the prompt."""
        story = self._story(memory)
        await self._begin()
        if await self.checkpoints.current() is None:
            await self._save(self._story_of(memory))
        await self.beginnings.begin_attempt(self._story_of(memory).label)
        return build_story_prompt(
            StoryPrompt(
                iteration=place.iteration,
                attempt=memory.retries + 1,
                max_attempts=self.max_retries + 1,
                story=story,
                change=await self.source.prompt_parts(),
                learnings=self.learnings,
                context=self.read_context(),
                last_failure=memory.own_words,
                refusal=memory.refusal,
                uncommitted=memory.uncommitted,
                checks=self.keeper.brief(memory.base) if self.keeper else "",
                question_tool=self.question_tool,
            )
        )

    def event(self, memory: StoryMemory, place: IterationNumbers, said: StreamEvent) -> Event:
        """Return a stream event with its story."""
        return StoryEvent(story_id=_story_id(memory), iteration=place.iteration, event=said)

    def gates(self, memory: StoryMemory, record: IterationRecord) -> Sequence[Gate]:
        """Return a check of the story's boxes, if the agent claims completion."""
        if record.outcome is not OutcomeKind.COMPLETED:
            return ()
        return (StoryBoxes(_story_id(memory), self._honest),)

    def claim(self, memory: StoryMemory, record: IterationRecord) -> CompletionClaim | None:
        """Return a claim if the agent made one."""
        if record.outcome is not OutcomeKind.COMPLETED:
            return None
        others = [story for story in self._known.stories if story.id != _story_id(memory)]
        own = self._known.find(_story_id(memory))
        return CompletionClaim(
            base=memory.base,
            own=self.own_folders,
            named=self.book.texts,
            asked=f"{own.title}\n{own.text}" if own else None,
            final=all(story.complete for story in others),
        )

    async def inspect(self, changes: Changes | None) -> Findings:  # noqa: ARG002 - the protocol's signature
        """Note the boxes that the agent left; retries end a story that makes no progress."""
        await self._note_boxes()
        return Findings()

    async def _note_boxes(self) -> None:
        try:
            found = await self.source.stories()
        except ChangeError:
            found = StoryList()
        self.book.after_agent(found)
        self._known = self.book.honest(found)

    def judge(
        self,
        memory: StoryMemory,
        record: IterationRecord,
        tally: Tally,
        *,
        used: Usage,  # noqa: ARG002 - the protocol's signature
        now: float,
    ) -> Judgement[StoryMemory]:
        """Decide by the promise and the gates, and remember the result for the next attempt."""
        memory = msgspec.structs.replace(
            memory,
            unverifiable=memory.unverifiable + 1 if record.proof is Proof.UNVERIFIABLE else 0,
            asking=memory.asking + 1 if (refused := refusal(record.gates)) and refused.needs else 0,
            leavings=merged(memory.leavings, record.leavings),
        )
        ended = unverifiable(record.proof, record.gates, memory.unverifiable)
        verdict = (
            ended
            or needs_person(record.gates, memory.asking)
            or judge_story(
                record.as_outcome(),
                tally,
                self.limits,
                retries=memory.retries,
                max_retries=self.max_retries,
                refused=record.rejected if record.gates else _UNCHECKED,
                now=now,
                jitter=self.jitter,
            )
        )
        return Judgement(verdict=verdict, memory=remember(memory, verdict, record))

    async def settle(self, memory: StoryMemory) -> StoryMemory:
        """Revert to the checkpoint, or make refused work the checkpoint, or accept the story."""
        checkpoint = await self.checkpoints.current()
        if memory.due is Due.REVERT and checkpoint is not None:
            await self._revert(memory, checkpoint)
        elif memory.due is Due.ACCEPT:
            return (await self._accept(memory, checkpoint)).for_next_story()
        elif memory.due is Due.KEEP:
            await self._keep(memory, checkpoint)
        return msgspec.structs.replace(memory, due=Due.NOTHING)

    async def evidence(self, memory: StoryMemory) -> str:
        """Return what the gates found."""
        keeper = self.keeper
        finished = keeper is not None and memory.proof is None and keeper.is_green_at(memory.base)
        return memory.evidence or ("no box was open, and the checks are green" if finished else "")

    def conclude(self, finish: Finish) -> Finish:
        """Return the end unchanged."""
        return finish

    async def close(self, finish: Finish, memory: StoryMemory) -> str:
        """Clean up after success; otherwise leave the tree and its checkpoint unchanged."""
        if finish.status is Status.DONE:
            for what in Beginning:
                await self.beginnings.accept(what)
            await self.checkpoints.cleanup()
            return ""
        if finish.status is not Status.STUCK:
            return ""  # a hung git must not delay a stop
        await self._losses.look()
        left = await self.checkpoints.current()
        if left is not None and left.half_reverted:  # half a tree is not work to continue from
            self._warn([f"the tree is only partly restored to {left.label}; the next command here finishes that first"])
            return ""
        return _story_id(memory) if left is not None and await self.checkpoints.differs(left) else ""

    def _story(self, memory: StoryMemory) -> Story:
        found = self._known.find(_story_id(memory))
        assert found is not None  # noqa: S101 - `choose` has just found it
        return found

    def _story_of(self, memory: StoryMemory) -> StoryState:
        assert memory.story is not None  # noqa: S101 - only a story's verdict makes anything due
        return memory.story

    async def _save(self, story: StoryState) -> None:
        saved = await self.checkpoints.save(story.label)
        self.emit(CheckpointSaved(story_id=story.id, tree=saved.tree))
        self._warn(warning for warning in saved.warnings if warning not in self._unsaved)
        self._unsaved = ()

    async def _revert(self, memory: StoryMemory, checkpoint: Checkpoint) -> None:
        discarded = await self.checkpoints.revert(checkpoint)
        kept_as = discarded.name if discarded else ""
        self.emit(Reverted(story_id=_story_id(memory), kept_as=kept_as, resumed=self._resumed))
        self._resumed = False
        self._losses.forget()
        self._warn(discarded.warnings if discarded else ())
        await self._note_boxes()

    async def _keep(self, memory: StoryMemory, checkpoint: Checkpoint | None) -> None:
        """Make refused work the checkpoint; where an earlier run left one, set it aside, and the next attempt saves."""
        edited = self._keeps_edits
        if edited is None:
            await self._save(self._story_of(memory))
            await self._losses.look()
        elif checkpoint is not None:
            saved_as = await self.checkpoints.set_aside(checkpoint)
            await self.checkpoints.drop(checkpoint)
            self.emit(TreeKept(story_id=_story_id(memory), saved_as=saved_as, edited=edited))
        self._keeps_edits = None  # not before: a git command that fails is tried again

    async def _accept(self, memory: StoryMemory, checkpoint: Checkpoint | None) -> StoryMemory:
        """Commit the story if wanted, and only then drop its checkpoint; return the memory with the commit's fate."""
        story = self._story_of(memory)
        await self._losses.look()
        known = self._known if self._known.stories else await self._honest()
        if (accepted := known.find(story.id)) is not None:
            self.book.accept(accepted)
            self._known = self.book.honest(known)
            self._warn(await self.source.record(accepted, self._known, memory.evidence))
        commit = None
        if self.commit is not None:
            try:
                commit = await self.commit(f"Story {story.id}: {story.title}", memory.leavings)
                memory = msgspec.structs.replace(memory, uncommitted="")
            except CommandTimeout:  # a failure that costs a retry, like that of any other command
                raise
            except CommandError as error:
                self.emit(Warned(message=str(error), hint=error.hint, about="commit"))
                memory = after_failed_commit(memory, error)
        if checkpoint is not None:
            await self.checkpoints.drop(checkpoint)
            self.emit(CheckpointDropped(story_id=story.id))
        await self.beginnings.accept(Beginning.STORY)
        self.emit(
            StoryDone(
                story_id=story.id,
                title=story.title,
                commit=commit,
                proof=memory.accepted,
                evidence=memory.evidence,
                boxes=self.boxes,
            )
        )
        return memory

    def _announce(self, story: StoryState) -> None:
        self.emit(StoryProgress(story_id=story.id, max_attempts=self.max_retries + 1, **carried(story, StoryProgress)))

    def _warn(self, messages: Iterable[str]) -> None:
        for message in messages:
            self.emit(Warned(message=message))


def _story_id(memory: StoryMemory) -> str:
    return memory.story.id if memory.story else ""
