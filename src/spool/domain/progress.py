"""Folds a loop's events into figures for the views. Its size does not grow with the agent's output."""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto

from spool.domain import events
from spool.domain.gates.values import Proof
from spool.domain.outcome import OutcomeKind
from spool.domain.state import IterationRecord
from spool.domain.story import StoryList
from spool.domain.stream import Done, Usage, UsageSoFar
from spool.domain.verdict import Status

WHOLE = ""
"""The id of the only story of a loop without stories."""
_FILES = 2_000
_CHARTED = 60
_WARNINGS = 20


class Mark(Enum):
    """The state of a story."""

    WAITING = auto()
    RUNNING = auto()
    DONE = auto()
    FAILED = auto()


@dataclass
class Attempt:
    """One attempt at a story."""

    iteration: int
    number: int
    outcome: str = ""
    reason: str = ""
    note: str = ""
    seconds: float = 0.0
    began_at: datetime | None = None

    def lasts_s(self, now: datetime) -> float:
        """Return its duration so far, in seconds."""
        return max(0.0, (now - self.began_at).total_seconds()) if self.began_at else 0.0


@dataclass
class StoryView:
    """One story and its figures."""

    id: str
    title: str
    mark: Mark = Mark.WAITING
    attempts: list[Attempt] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    files: set[str] = field(default_factory=set)
    """The files that its attempts changed, without those that were reverted."""
    at_checkpoint: frozenset[str] = frozenset()
    """The changed files that its checkpoint has, and a revert keeps."""
    seen: int = 0
    """The number of its events."""
    since: str = ""
    """The tree of its checkpoint."""
    proof: Proof | None = None
    """What the gates said when they accepted it."""
    until: str = ""
    """The tree of the next story's checkpoint, once saved."""

    def spent_s(self, now: datetime) -> float:
        """Return the time spent on it in seconds, including a running attempt."""
        runs = bool(self.attempts) and not self.attempts[-1].outcome
        return self.seconds + (self.attempts[-1].lasts_s(now) if runs else 0.0)

    @property
    def tries(self) -> int:
        """The number of its attempts; a wait for a rate limit is none."""
        return sum(one.outcome != OutcomeKind.RATE_LIMITED for one in self.attempts)

    @property
    def iteration(self) -> int | None:
        """Its latest iteration."""
        return self.attempts[-1].iteration if self.attempts else None


@dataclass(frozen=True)
class Spent:
    """The time and usage of one iteration, for the charts."""

    seconds: float
    tokens: int
    cost_usd: float


class LoopProgress:
    """The figures of a loop."""

    def __init__(self, change: str, *, whole: bool = False) -> None:
        self.change = change
        self._whole = whole
        """Whether the loop has no stories."""
        self.harness = ""
        self.model: str | None = None
        self.stories: dict[str, StoryView] = {}
        self.current: str | None = None
        self.iteration = 0
        self.attempt = 1
        self.max_attempts: int | None = None
        self._used = self._running = Usage()
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.ended: events.RunEnded | None = None
        self.error: events.Error | None = None
        self.waiting: events.Waiting | None = None
        self.checking: events.GateStarted | None = None
        self.complete: events.Complete | None = None
        self.stop_pending = False
        self.warnings: deque[events.Warned] = deque(maxlen=_WARNINGS)
        self.charted: deque[Spent] = deque(maxlen=_CHARTED)
        self._earlier_s = 0.0
        self._heard_at: datetime | None = None
        self._listed: tuple[tuple[str, str, bool], ...] = ()

    def elapsed_s(self, now: datetime) -> float:
        """Return the loop's running time in seconds, including earlier runs."""
        if self.started_at is None:
            return 0.0
        return self._earlier_s + max(0.0, ((self.ended_at or now) - self.started_at).total_seconds())

    @property
    def usage(self) -> Usage:
        """The usage of all iterations, the running one included."""
        return self._used + self._running

    @property
    def completed(self) -> int:
        """The number of finished stories."""
        return sum(story.mark is Mark.DONE for story in self.shown.values())

    @property
    def shown(self) -> dict[str, StoryView]:
        """The stories, without the place of events that came before the first one."""
        return {name: one for name, one in self.stories.items() if name != WHOLE} or self.stories

    def know(self, stories: StoryList) -> bool:
        """Update the list of stories, in order; return whether it changed."""
        listed = tuple((story.id, story.title, story.complete) for story in stories.stories)
        if listed == self._listed:
            return False
        self._listed = listed
        known = self.stories
        self.stories = {}
        for story_id, title, complete in listed:
            story = known.pop(story_id, None) or StoryView(story_id, title)
            story.title = title
            if story_id != self.current and (complete or story.mark is Mark.DONE):
                story.mark = Mark.DONE if complete else Mark.WAITING
            self.stories[story_id] = story
        self.stories.update((name, one) for name, one in known.items() if one.seen)  # removed stories with events stay
        return True

    def fold(self, event: events.Event) -> StoryView:
        """Apply one event and return its story."""
        match event:
            case events.StoryEvent() | events.AgentEvent():
                if isinstance(event.event, UsageSoFar | Done):
                    self._running = event.event.usage
            case events.RunStarted():
                self._begin(event)
            case events.IterationStarted():
                self.iteration = event.iteration
                self.waiting = None
                self._story().attempts.append(Attempt(event.iteration, self.attempt, began_at=event.at))
            case events.StoryProgress():
                self._enter(event)
            case events.CheckpointSaved():
                self._save(event)
            case events.Reverted():
                story = self._named(event.story_id, "")
                story.files = set(story.at_checkpoint)
            case events.StoryDone():
                story = self._named(event.story_id, event.title)
                story.mark, story.proof = Mark.DONE, event.proof
            case events.IterationEnded():
                self._end_iteration(event.record)
            case events.Waiting():
                self.waiting = event
            case events.GateStarted():
                self.checking = event
            case events.GateEnded():
                self.checking = None
            case events.Complete():
                self.complete = event
            case events.Warned():
                self.warnings.append(event)
            case events.StopRequested():
                self.stop_pending = True
            case events.Error():
                self.error = event
            case events.RunEnded():
                self._end(event)
            case _:
                pass
        self._heard_at = event.at or self._heard_at
        story = self._story()
        story.seen += 1
        return story

    def _begin(self, event: events.RunStarted) -> None:
        self.harness, self.model = event.harness, event.model
        self.iteration = event.iteration
        if self._heard_at is not None:  # a killed run ended with its last event
            self._earlier_s = self.elapsed_s(self._heard_at)
        self.started_at, self.ended_at = event.at, None
        self.ended = self.error = self.waiting = self.checking = self.complete = None
        self.stop_pending = False
        for story in self.stories.values():
            if story.mark is Mark.FAILED:
                story.mark = Mark.WAITING
        if self._whole:
            self._story().mark = Mark.RUNNING

    def _enter(self, event: events.StoryProgress) -> None:
        story = self._named(event.story_id, event.title)
        if self.current not in (None, event.story_id) and (before := self.stories.get(self.current or "")):
            before.mark = Mark.WAITING if before.mark is Mark.RUNNING else before.mark
        before_first = self.stories.pop(WHOLE, None)
        story.seen += before_first.seen if before_first else 0
        story.title, story.mark = event.title, Mark.RUNNING
        self.current, self.attempt, self.max_attempts = event.story_id, event.attempt, event.max_attempts

    def _save(self, event: events.CheckpointSaved) -> None:
        for story in self.stories.values():
            if story.since and not story.until and story.id != event.story_id:
                story.until = event.tree
        story = self._named(event.story_id, "")
        story.since, story.until = event.tree, ""
        story.at_checkpoint = frozenset(story.files)

    def _end_iteration(self, record: IterationRecord) -> None:
        story = self.stories.get(record.story_id or "") or self._story()
        attempt = next((one for one in reversed(story.attempts) if one.iteration == record.iteration), None)
        if attempt is None:
            attempt = Attempt(record.iteration, record.attempt or 1)
            story.attempts.append(attempt)
        rejected = record.rejected
        attempt.outcome = "refused" if rejected else str(record.outcome)
        attempt.reason, attempt.note = rejected.why if rejected else record.reason, record.note
        attempt.seconds = record.duration_s
        story.seconds += record.duration_s
        story.usage += record.usage
        self._used, self._running = self._used + record.usage, Usage()
        if len(story.files) < _FILES:
            story.files.update(record.files)
        self.charted.append(Spent(record.duration_s, record.usage.tokens or 0, record.usage.cost_usd or 0.0))
        if record.outcome is not OutcomeKind.INTERRUPTED:
            self.iteration = max(self.iteration, record.iteration)

    def _end(self, event: events.RunEnded) -> None:
        self.ended, self.ended_at, self.waiting, self.checking = event, event.at, None, None
        current = WHOLE if self._whole else self.current
        story = self.stories.get(current) if current is not None else None
        if story is not None and story.mark is not Mark.DONE:
            if event.status is Status.DONE:
                story.mark = Mark.DONE
            else:
                story.mark = Mark.FAILED if event.status is Status.STUCK else Mark.WAITING

    def close(self, at: datetime | None = None) -> None:
        """End the run if its runner was killed: at the given time, else with its last event."""
        if self.ended is not None:
            return
        self.ended_at, self.waiting, self.checking = at or self._heard_at, None, None
        for story in self.stories.values():
            story.mark = Mark.WAITING if story.mark is Mark.RUNNING else story.mark
            if story.attempts and not story.attempts[-1].outcome and self.ended_at is not None:
                last = story.attempts[-1]
                last.outcome, last.seconds = str(OutcomeKind.INTERRUPTED), last.lasts_s(self.ended_at)
                story.seconds += last.seconds

    def _named(self, story_id: str, title: str) -> StoryView:
        found = self.stories.get(story_id)
        if found is None:
            found = self.stories[story_id] = StoryView(story_id, title)
        return found

    def _story(self) -> StoryView:
        """Return the story of events that name none."""
        if self.current is None:
            return self._named(WHOLE, "The whole change")
        return self._named(self.current, "")
