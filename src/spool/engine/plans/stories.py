"""The plan of `spool run`: works story by story, and retries each from its checkpoint."""

from collections.abc import Iterable, Sequence

import msgspec

from spool.domain.checkpoint import Checkpoint
from spool.domain.events import (
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
from spool.domain.gates.values import GateResult, Proof, proof_together, refusal
from spool.domain.gates.words import evidence
from spool.domain.loop import Due, PlanState, StoryState, merged
from spool.domain.outcome import OutcomeKind
from spool.domain.promise import DEFAULT_PROMISE
from spool.domain.prompt import StoryPrompt, build_story_prompt
from spool.domain.state import Changes
from spool.domain.story import Story, StoryList
from spool.domain.stream import StreamEvent
from spool.domain.tasks import Boxes
from spool.domain.verdict import (
    Ended,
    ExitCode,
    Finish,
    NextStory,
    Retry,
    Status,
    Tally,
    Verdict,
    judge_story,
    unverifiable,
)
from spool.engine.gatekeeper import Claim
from spool.engine.gates import Gate, StoryBoxes
from spool.engine.plan import Findings, Judgement, Place, after_failed_commit
from spool.engine.plans.story_world import OnResume, StoryOptions, StoryWorld
from spool.errors import ChangeError, CommandError, Hint


class StoryPlan:
    """Works through the stories of a change."""

    promise = DEFAULT_PROMISE

    def __init__(self, options: StoryOptions, world: StoryWorld) -> None:
        self.limits = options.limits
        self._options = options
        self._world = world
        self._known = StoryList()
        self._resumed = False
        self._keeps_edits: bool | None = None
        """Whether the tree that is about to be kept may hold a person's edits; None if it is no earlier run's."""

    @property
    def boxes(self) -> Boxes | None:
        """The boxes of the stories, without those that an agent closed without ticking them."""
        return self._known.boxes if self._known.stories else None

    async def resume(self, memory: PlanState, *, edited: bool) -> PlanState:
        """Return the memory, with a revert or a new checkpoint due if an earlier run left a checkpoint.

        Without an answer a tree is reverted only if nobody can have edited it since the earlier run.
        """
        left = await self._world.checkpoints.current()
        if left is not None and self._options.fresh:
            await self._world.checkpoints.drop(left)
            return memory
        self._resumed = left is not None  # a person may have worked in the tree since
        decided = not memory.fingerprint or not edited or self._options.answer is OnResume.REVERT
        if left is None or (memory.due is not Due.NOTHING and decided):
            return memory
        how = self._options.answer or (OnResume.KEEP if edited else self._options.on_resume)
        # An interrupted revert left a mixture of two trees, which is never kept.
        if how is OnResume.REVERT or left.half_reverted:
            return msgspec.structs.replace(memory, due=Due.REVERT)
        if not await self._world.checkpoints.differs(left):
            return msgspec.structs.replace(memory, due=Due.NOTHING)
        self._keeps_edits = edited
        return msgspec.structs.replace(memory, due=Due.KEEP)

    async def choose(self, memory: PlanState) -> PlanState | Finish:
        """Choose the next incomplete story and announce it."""
        found = await self._world.source.refresh()
        self._warn(self._world.source.concerns())
        self._world.book.before_agent(found, await self._texts(found))
        stories = self._known = self._world.book.honest(found)
        story = stories.find(memory.unaccepted) or stories.next
        if story is None:
            return self._nothing_left(memory)
        if memory.story is not None and memory.story.id != story.id:
            memory = _for_next_story(memory)
        state = StoryState(
            id=story.id,
            title=story.title,
            current=stories.position(story),
            total=len(stories.stories),
            completed=stories.completed,
            attempt=memory.retries + 1,
        )
        self._announce(state)
        begun = story.id if self._world.keeper is not None else ""
        return msgspec.structs.replace(memory, story=state, unaccepted=begun)

    def _nothing_left(self, memory: PlanState) -> Finish:
        """Return the end: done, unless no gate has accepted any work of this run, and one is red."""
        accepted = memory.story is not None and memory.proof is not None
        red = self._world.keeper.red_at(memory.base) if self._world.keeper and not accepted else ""
        if red:
            return Finish(
                Status.STUCK, f"no box is open, but a check is red: {red}", ExitCode.STUCK, hint=Hint.OPEN_BOX
            )
        return Finish(Status.DONE, "all stories are complete", ExitCode.COMPLETE)

    async def _texts(self, stories: StoryList) -> str:
        """Return what the change says, before the first agent."""
        if self._world.book.texts:
            return ""
        return "\n".join([(await self._world.source.prompt_parts()).proposal, *(one.text for one in stories.stories)])

    async def _honest(self) -> StoryList:
        """Return the current stories, with boxes that an agent closed without ticking them still open."""
        self._known = self._world.book.honest(await self._world.source.stories())
        return self._known

    async def prepare(self, memory: PlanState, place: Place) -> str:
        """Save a checkpoint, unless there is one of this attempt, and return the prompt."""
        story = self._story(memory)
        if await self._world.checkpoints.current() is None:
            await self._save(self._story_of(memory))
        return build_story_prompt(
            StoryPrompt(
                iteration=place.iteration,
                attempt=memory.retries + 1,
                max_attempts=self._options.max_retries + 1,
                story=story,
                change=await self._world.source.prompt_parts(),
                learnings=self._options.learnings,
                context=self._world.read_context(),
                last_failure=memory.own_words,
                refusal=memory.refusal,
                uncommitted=memory.uncommitted,
                checks=self._world.keeper.brief(memory.base) if self._world.keeper else "",
                question_tool=self._options.question_tool,
            )
        )

    def event(self, memory: PlanState, place: Place, said: StreamEvent) -> Event:
        """Return a stream event with its story."""
        return StoryEvent(story_id=_story_id(memory), iteration=place.iteration, event=said)

    def gates(self, memory: PlanState, ended: Ended) -> Sequence[Gate]:
        """Return a check of the story's boxes, if the agent claims completion."""
        if ended.outcome.kind is not OutcomeKind.COMPLETED:
            return ()
        return (StoryBoxes(_story_id(memory), self._honest),)

    def claim(self, memory: PlanState, ended: Ended) -> Claim | None:
        """Return a claim if the agent made one."""
        if ended.outcome.kind is not OutcomeKind.COMPLETED:
            return None
        others = [story for story in self._known.stories if story.id != _story_id(memory)]
        own = self._known.find(_story_id(memory))
        return Claim(
            base=memory.base,
            own=self._options.own_folders,
            named=self._world.book.texts,
            asked=f"{own.title}\n{own.text}" if own else None,
            final=all(story.complete for story in others),
        )

    async def inspect(self, changes: Changes | None) -> Findings:  # noqa: ARG002 - the protocol's signature
        """Note the boxes that the agent left; retries end a story that makes no progress."""
        await self._note_boxes()
        return Findings()

    async def _note_boxes(self) -> None:
        try:
            found = await self._world.source.stories()
        except ChangeError:
            found = StoryList()
        self._world.book.after_agent(found)
        self._known = self._world.book.honest(found)

    def judge(self, memory: PlanState, ended: Ended, tally: Tally, *, now: float) -> Judgement:
        """Decide by the promise and the gates, and remember the result for the next attempt."""
        memory = msgspec.structs.replace(
            memory,
            unverifiable=memory.unverifiable + 1 if ended.proof is Proof.UNVERIFIABLE else 0,
            leavings=merged(memory.leavings, ended.leavings),
        )
        verdict = unverifiable(ended, memory.unverifiable) or judge_story(
            ended.outcome,
            tally,
            self.limits,
            retries=memory.retries,
            max_retries=self._options.max_retries,
            refused=_refused(ended),
            now=now,
            jitter=self._world.jitter,
        )
        return Judgement(verdict=verdict, memory=_remember(memory, verdict, ended))

    async def settle(self, memory: PlanState) -> PlanState:
        """Revert to the checkpoint, or make refused work the checkpoint, or accept the story."""
        checkpoint = await self._world.checkpoints.current()
        if memory.due is Due.REVERT and checkpoint is not None:
            await self._revert(memory, checkpoint)
        elif memory.due is Due.ACCEPT:
            return _for_next_story(await self._accept(memory, checkpoint))
        elif memory.due is Due.KEEP:
            await self._keep(memory, checkpoint)
        return msgspec.structs.replace(memory, due=Due.NOTHING)

    async def evidence(self, memory: PlanState) -> str:
        """Return what the gates found."""
        keeper = self._world.keeper
        finished = keeper is not None and memory.proof is None and keeper.is_green_at(memory.base)
        return memory.evidence or ("no box was open, and the checks are green" if finished else "")

    def conclude(self, finish: Finish) -> Finish:
        """Return the end unchanged."""
        return finish

    async def close(self, finish: Finish, memory: PlanState) -> str:
        """Clean up after success; otherwise leave the tree and its checkpoint unchanged."""
        if finish.status is Status.DONE:
            await self._world.checkpoints.cleanup()
            return ""
        left = await self._world.checkpoints.current() if finish.status is Status.STUCK else None
        return _story_id(memory) if left is not None and await self._world.checkpoints.differs(left) else ""

    def _story(self, memory: PlanState) -> Story:
        found = self._known.find(_story_id(memory))
        assert found is not None  # noqa: S101 - `choose` has just found it
        return found

    def _story_of(self, memory: PlanState) -> StoryState:
        assert memory.story is not None  # noqa: S101 - only a story's verdict makes anything due
        return memory.story

    async def _save(self, story: StoryState) -> None:
        saved = await self._world.checkpoints.save(f"story {story.id}, {story.title}")
        self._world.emit(CheckpointSaved(story_id=story.id, tree=saved.tree))
        self._warn(saved.warnings)

    async def _revert(self, memory: PlanState, checkpoint: Checkpoint) -> None:
        discarded = await self._world.checkpoints.revert(checkpoint)
        kept_as = discarded.name if discarded else ""
        self._world.emit(Reverted(story_id=_story_id(memory), kept_as=kept_as, resumed=self._resumed))
        self._resumed = False
        self._warn(discarded.warnings if discarded else ())
        await self._note_boxes()

    async def _keep(self, memory: PlanState, checkpoint: Checkpoint | None) -> None:
        """Make refused work the checkpoint; where an earlier run left one, set it aside, and the next attempt saves."""
        edited = self._keeps_edits
        if edited is None:
            await self._save(self._story_of(memory))
        elif checkpoint is not None:
            saved_as = await self._world.checkpoints.set_aside(checkpoint)
            await self._world.checkpoints.drop(checkpoint)
            self._world.emit(TreeKept(story_id=_story_id(memory), saved_as=saved_as, edited=edited))
        self._keeps_edits = None  # not before: a git command that fails is tried again

    async def _accept(self, memory: PlanState, checkpoint: Checkpoint | None) -> PlanState:
        """Commit the story if wanted, and only then drop its checkpoint; return the memory with the commit's fate."""
        story = self._story_of(memory)
        known = self._known if self._known.stories else await self._honest()
        if (accepted := known.find(story.id)) is not None:
            self._world.book.accept(accepted)
            self._known = self._world.book.honest(known)
        commit = None
        if self._world.commit is not None:
            try:
                commit = await self._world.commit(f"Story {story.id}: {story.title}", memory.leavings)
                memory = msgspec.structs.replace(memory, uncommitted="")
            except CommandError as error:
                self._world.emit(Warned(message=str(error), hint=error.hint, about="commit"))
                memory = after_failed_commit(memory, error)
        if checkpoint is not None:
            await self._world.checkpoints.drop(checkpoint)
            self._world.emit(CheckpointDropped(story_id=story.id))
        self._world.emit(
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
        self._world.emit(
            StoryProgress(
                story_id=story.id,
                title=story.title,
                current=story.current,
                total=story.total,
                completed=story.completed,
                attempt=story.attempt,
                max_attempts=self._options.max_retries + 1,
            )
        )

    def _warn(self, messages: Iterable[str]) -> None:
        for message in messages:
            self._world.emit(Warned(message=message))


def _story_id(memory: PlanState) -> str:
    return memory.story.id if memory.story else ""


def _refused(ended: Ended) -> GateResult | None:
    """Return the gate that refused; a claim that was not checked is refused as well."""
    if ended.gates or ended.outcome.kind is not OutcomeKind.COMPLETED:
        return refusal(ended.gates)
    return GateResult(name="tasks", passed=False, why="nothing was checked")


def _for_next_story(memory: PlanState) -> PlanState:
    """Return the memory after a story: what holds for the whole change."""
    return PlanState(
        story=memory.story,
        base=memory.base,
        left=memory.left,
        proof=memory.proof,
        evidence=memory.evidence,
        leavings=memory.leavings,
        failed_commits=memory.failed_commits,
        uncommitted=memory.uncommitted,
        fingerprint=memory.fingerprint,
    )


def _remember(memory: PlanState, verdict: Verdict, ended: Ended) -> PlanState:
    """Return the memory for the next attempt. The change is proved only if each of its stories is."""
    match verdict:
        case NextStory():
            return msgspec.structs.replace(
                memory,
                due=Due.ACCEPT,
                accepted=ended.proof,
                proof=proof_together(memory.proof, ended.proof),
                evidence=evidence(ended.gates),
                base=ended.checked_tree or memory.base,
            )
        case Retry() if memory.due is not Due.NOTHING:  # a command failed while this was done: retry only that
            return msgspec.structs.replace(memory, retries=verdict.retry)
        case Retry():
            return msgspec.structs.replace(
                memory,
                retries=verdict.retry,
                own_words=verdict.own_words,
                refusal=verdict.refusal,
                due=Due.KEEP if verdict.keep else Due.REVERT,
            )
        case _:
            return memory
