"""The plan of `spool run`: story by story, each from a checkpoint, and again from it after a failure."""

from collections.abc import Awaitable, Callable, Iterable
from enum import StrEnum
from typing import Protocol, assert_never

from spool.domain.checkpoint import Checkpoint, Discarded
from spool.domain.events import (
    CheckpointDropped,
    CheckpointSaved,
    Event,
    Reverted,
    StoryDone,
    StoryEvent,
    StoryProgress,
    Warned,
)
from spool.domain.events import Retrying as RetryingEvent
from spool.domain.outcome import Outcome, OutcomeKind
from spool.domain.promise import DEFAULT_PROMISE
from spool.domain.prompt import ChangeTexts, StoryPrompt, build_story_prompt
from spool.domain.state import StoryState
from spool.domain.story import Story, StoryList, missing_from
from spool.domain.stream import StreamEvent
from spool.domain.verdict import (
    Continue,
    ExitCode,
    Finish,
    Limits,
    NextStory,
    Retry,
    Status,
    Tally,
    Verdict,
    Wait,
    judge_story,
)
from spool.engine.plan import Place
from spool.engine.ports import Clock, Emit
from spool.errors import ChangeError, CommandError


class StorySource(Protocol):
    """The seeds' adapter: where stories come from."""

    async def refresh(self) -> StoryList:
        """Return the stories as they stand now, after asking whoever else knows of them."""
        ...

    async def stories(self) -> StoryList:
        """Return the stories as they stand now."""
        ...

    def concerns(self) -> list[str]:
        """Return what a person should know after a refresh, and forget it."""
        ...

    async def prompt_parts(self) -> ChangeTexts:
        """Return the texts that go into every story's prompt."""
        ...


class Checkpoints(Protocol):
    """Saves and brings back the working tree, for one change in one worktree."""

    async def save(self, label: str) -> Checkpoint:
        """Save the tree; it is safe when this returns."""
        ...

    async def current(self) -> Checkpoint | None:
        """Return the checkpoint there is, from this run or an earlier one."""
        ...

    async def revert(self, checkpoint: Checkpoint) -> Discarded | None:
        """Bring the tree back; return what was discarded, which is kept, if anything was."""
        ...

    async def drop(self, checkpoint: Checkpoint) -> None:
        """Let go of the checkpoint."""
        ...

    async def cleanup(self) -> None:
        """Let go of everything that only a running loop needs."""
        ...


class OnResume(StrEnum):
    """What to do with the tree that an earlier run left."""

    REVERT = "revert"
    KEEP = "keep"


class _Due(StrEnum):
    """What must be done to the checkpoint before the next attempt."""

    NOTHING = ""
    REVERT = "revert"
    DROP = "drop"


class StoryPlan:
    """Walks the stories of a change."""

    promise = DEFAULT_PROMISE

    def __init__(
        self,
        *,
        source: StorySource,
        checkpoints: Checkpoints,
        limits: Limits,
        max_retries: int,
        on_resume: OnResume,
        question_tool: str,
        learnings: str,
        read_context: Callable[[], str],
        commit: Callable[[str], Awaitable[str | None]] | None,
        emit: Emit,
        clock: Clock,
    ) -> None:
        self.limits = limits
        self.story: StoryState | None = None
        self._source = source
        self._checkpoints = checkpoints
        self._max_retries = max_retries
        self._on_resume = on_resume
        self._question_tool = question_tool
        self._learnings = learnings
        self._read_context = read_context
        self._commit = commit
        self._emit = emit
        self._clock = clock
        self._known = StoryList()
        self._retries = 0
        self._tell_agent = ""
        self._due = _Due.NOTHING
        self._started = False

    async def prepare(self, place: Place) -> str | Finish:
        """Bring the tree into the state that the next attempt begins from, and build its prompt."""
        if not self._started:
            await self._take_up()
        await self._settle()
        stories = await self._source.refresh()
        self._warn(self._source.concerns())
        story = stories.next
        if story is None:
            return Finish(Status.DONE, "all stories are complete", ExitCode.COMPLETE)
        self._known = stories
        self._announce(story, stories)
        if await self._checkpoints.current() is None:
            saved = await self._checkpoints.save(f"story {story.id}, {story.title}")
            self._emit(CheckpointSaved(story_id=story.id, tree=saved.tree))
            self._warn(saved.warnings)
        return await self._prompt(place, story)

    def tell(self, place: Place, event: StreamEvent) -> Event:
        """Report what the agent said or did, with its story."""
        story_id = self.story.id if self.story else ""
        return StoryEvent(story_id=story_id, iteration=place.iteration, event=event)

    async def judge(self, outcome: Outcome, tally: Tally) -> Verdict:
        """Decide by the promise and by the story's boxes, and remember what that means for the next attempt."""
        open_tasks: tuple[str, ...] = ()
        try:
            open_tasks = await self._open_tasks()
        except CommandError as error:
            outcome = Outcome(kind=OutcomeKind.TIMEOUT, reason=error.advice)
        except ChangeError as error:  # the agent has removed what it was to work on
            outcome = Outcome(kind=OutcomeKind.HARNESS_ERROR, reason=str(error), exit_code=outcome.exit_code)
        verdict = judge_story(
            outcome,
            tally,
            self.limits,
            retries=self._retries,
            max_retries=self._max_retries,
            open_tasks=open_tasks,
            now=self._clock.now().timestamp(),
            jitter=self._clock.jitter,
        )
        self._remember(verdict)
        return verdict

    def conclude(self, finish: Finish) -> Finish:
        """A run ends as it was judged."""
        return finish

    async def close(self, finish: Finish) -> str:
        """Clean up when all is done; otherwise the tree and its checkpoint stay as they are, and are named."""
        if finish.status is Status.DONE:
            await self._checkpoints.cleanup()
            return ""
        if self.story is None or await self._checkpoints.current() is None:
            return ""
        return (
            f"the work of story {self.story.id} is in the working tree; "
            "the same command with --on-resume keep goes on from it, --on-resume revert brings its checkpoint back"
        )

    async def _take_up(self) -> None:
        """After a stop or a crash there is a checkpoint: bring it back, or keep the tree, as was asked."""
        left = await self._checkpoints.current()
        # A revert that was cut short left a mixture of two trees: that is never worth keeping.
        if left is not None and (self._on_resume is OnResume.REVERT or left.half_reverted):
            self._due = _Due.REVERT
        self._started = True

    async def _settle(self) -> None:
        """Do what the last verdict asked for; done again after a failure, it ends the same."""
        story_id = self.story.id if self.story else ""
        checkpoint = await self._checkpoints.current()
        if checkpoint is not None and self._due is _Due.REVERT:
            discarded = await self._checkpoints.revert(checkpoint)
            self._emit(Reverted(story_id=story_id, kept_as=discarded.name if discarded else ""))
            self._warn(discarded.warnings if discarded else ())
            if discarded and self.story is None:  # a stopped run is taken up: a person may have worked here since
                kept = f"spool checkpoint restore {discarded.name}"
                self._warn([f"what was changed since the story's checkpoint is set aside, yours too: {kept}"])
        elif checkpoint is not None and self._due is _Due.DROP:
            await self._checkpoints.drop(checkpoint)
            self._emit(CheckpointDropped(story_id=story_id))
            await self._finish_story()
        self._due = _Due.NOTHING

    async def _finish_story(self) -> None:
        """Commit a finished story, if that is wanted, and report it."""
        if self.story is None:
            return
        commit = None
        if self._commit is not None:
            try:
                commit = await self._commit(f"Story {self.story.id}: {self.story.title}")
            except CommandError as error:
                self._emit(Warned(message=error.advice))
        self._emit(StoryDone(story_id=self.story.id, title=self.story.title, commit=commit))

    def _warn(self, messages: Iterable[str]) -> None:
        for message in messages:
            self._emit(Warned(message=message))

    def _announce(self, story: Story, stories: StoryList) -> None:
        if self.story is None or self.story.id != story.id:
            self._retries, self._tell_agent = 0, ""
        self.story = StoryState(
            id=story.id,
            title=story.title,
            current=stories.position(story),
            total=len(stories.stories),
            completed=stories.completed,
            attempt=self._retries + 1,
        )
        self._emit(
            StoryProgress(
                story_id=story.id,
                title=story.title,
                current=self.story.current,
                total=self.story.total,
                completed=self.story.completed,
                attempt=self.story.attempt,
                max_attempts=self._max_retries + 1,
            )
        )

    async def _prompt(self, place: Place, story: Story) -> str:
        return build_story_prompt(
            StoryPrompt(
                iteration=place.iteration,
                attempt=self._retries + 1,
                max_attempts=self._max_retries + 1,
                story=story,
                change=await self._source.prompt_parts(),
                learnings=self._learnings,
                context=self._read_context(),
                last_failure=self._tell_agent,
                question_tool=self._question_tool,
            )
        )

    async def _open_tasks(self) -> tuple[str, ...]:
        if self.story is None:
            return ()
        now = await self._source.stories()
        gone = missing_from(now, self._known)
        if gone:
            raise ChangeError(f"the agent removed {gone} from tasks.md")
        story = now.find(self.story.id)
        return tuple(task.id for task in story.open) if story else ()

    def _remember(self, verdict: Verdict) -> None:
        match verdict:
            case NextStory():
                self._due = _Due.DROP
            case Retry():
                self._retries += 1
                self._tell_agent = verdict.tell_agent
                self._due = _Due.NOTHING if verdict.keep else _Due.REVERT
                if self.story is not None:
                    self._emit(
                        RetryingEvent(
                            story_id=self.story.id,
                            attempt=self._retries + 1,
                            max_retries=self._max_retries,
                            because=verdict.because,
                        )
                    )
            case Continue() | Wait() | Finish():
                pass
            case _:
                assert_never(verdict)
