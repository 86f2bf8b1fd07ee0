"""Folds a loop's events into figures for the views. Its size does not grow with the agent's output."""

from collections import deque
from datetime import datetime

import msgspec

from spool.domain.account.story_history import WHOLE, GateView, IterationFigures, StoryMark, StoryView
from spool.domain.account.timeline import Timeline
from spool.domain.agent.sandbox_rules import NOT_SANDBOXED
from spool.domain.agent.stream import Done, Usage, UsageSoFar
from spool.domain.change.story import StoryList
from spool.domain.judging.gates.gate import BEFORE_AGENT, JUDGING
from spool.domain.loop import events
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.receipt import StoryReceipt
from spool.domain.loop.state import InFlight, IterationRecord, ended_early
from spool.domain.loop.verdict import Limits, Status

__all__ = ["WHOLE", "IterationFigures", "LoopProgress", "StoryMark", "StoryView"]
_CHARTED = 60
_WARNINGS = 20
_CONTEXT = (
    events.RunStarted,
    events.StoryProgress,
    events.CheckpointSaved,
    events.StoryDone,
    events.Complete,
    events.RunEnded,
)
"""The events from before the reported time that say where the loop stands."""


class LoopProgress:
    """The figures of a loop; with `since`, only what happened from then on is counted."""

    def __init__(self, change: str, *, whole: bool = False, since: datetime | None = None) -> None:
        self.change = change
        self.timeline = Timeline()
        self._since = since
        self._whole = whole
        """Whether the loop has no stories."""
        self.harness = ""
        self.model: str | None = None
        self.sandbox = NOT_SANDBOXED
        self.limits = Limits()
        self.stories: dict[str, StoryView] = {}
        self.current: str | None = None
        self.iteration = 0
        self.attempt = 1
        self.max_attempts: int | None = None
        self._running = Usage()
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.ended: events.RunEnded | None = None
        self.error: events.Error | None = None
        self.waiting: events.Waiting | None = None
        self.checking: events.GateStarted | None = None
        self.working: events.Working | None = None
        self.complete: events.Complete | None = None
        self.stop_pending = False
        self.warnings: deque[events.Warned] = deque(maxlen=_WARNINGS)
        self.charted: deque[IterationFigures] = deque(maxlen=_CHARTED)
        self._listed: tuple[tuple[str, str, bool], ...] = ()

    def elapsed_s(self, now: datetime) -> float:
        """Return the loop's running time in seconds, including earlier runs."""
        return self.timeline.elapsed_s(now, self._since)

    @property
    def since(self) -> datetime | None:
        """From when on events are counted; None for all of them."""
        return self._since

    def left_s(self, now: datetime) -> float | None:
        """Return the seconds until all stories are done, at the pace of those that are; None if that is unknown."""
        shown = list(self.shown.values())
        done = [story for story in shown if story.mark is StoryMark.DONE and story.attempts]
        left = len(shown) - self.completed
        if self._whole or not done or not left or self.ended is not None:
            return None
        pace_s = sum(story.seconds + story.spent.gates_s for story in done) / len(done)
        current = self.stories.get(self.current or WHOLE)
        begun_s = (
            current.spent_s(now) + current.spent.gates_s if current and current.mark is not StoryMark.DONE else 0.0
        )
        wait_s = (self.waiting.until - now).total_seconds() if self.waiting else 0.0
        return max(0.0, wait_s) + pace_s * (left - 1) + max(0.0, pace_s - begun_s)

    def run_s(self, now: datetime) -> float:
        """Return how long the current run has lasted, in seconds."""
        return max(0.0, ((self.ended_at or now) - self.started_at).total_seconds()) if self.started_at else 0.0

    @property
    def usage(self) -> Usage:
        """The usage of all iterations, the running one included."""
        return self.timeline.receipt.usage + self._running

    @property
    def running_usage(self) -> Usage:
        """The running agent's usage so far."""
        return self._running

    @property
    def completed(self) -> int:
        """The number of finished stories."""
        return sum(story.mark is StoryMark.DONE for story in self.shown.values())

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
            story = known.pop(story_id, None) or _new(story_id, title)
            story.title = title
            if story_id != self.current and (complete or story.mark is StoryMark.DONE):
                story.mark = StoryMark.DONE if complete else StoryMark.WAITING
            self.stories[story_id] = story
        self.stories.update((name, one) for name, one in known.items() if one.seen)  # removed stories with events stay
        return True

    def fold(self, event: events.Event) -> StoryView:
        """Apply one event and return its story."""
        if self._since is not None and event.at is not None and event.at < self._since:
            if isinstance(event, events.RunStarted | events.RunEnded):
                self.timeline.fold(event)
            if isinstance(event, _CONTEXT):
                self._apply(event)
            return self._story()
        self.timeline.fold(event)
        self._apply(event)
        story = self._story()
        story.seen += 1
        return story

    def _apply(self, event: events.Event) -> None:
        match event:
            case events.StoryEvent() | events.AgentEvent():
                if isinstance(event.event, UsageSoFar | Done):
                    self._running = event.event.usage
            case events.RunStarted():
                self._begin(event)
            case events.IterationStarted():
                self.iteration = event.iteration
                self.waiting = None
                story = self._story()
                story.begin(IterationFigures(event.iteration, self.attempt, story.id, event.run_id, began_at=event.at))
            case events.StoryProgress():
                self._enter(event)
            case events.CheckpointSaved():
                self._save(event)
            case events.Reverted():
                self._named(event.story_id, "").revert(event.kept_as, event.at)
            case events.StoryDone():
                self._named(event.story_id, event.title).accept(event.proof, event.evidence, event.commit)
            case events.IterationEnded():
                self._end_iteration(event.record)
            case events.Waiting():
                self.waiting = event
            case events.WaitEnded():
                self.waiting = None
            case events.GateStarted():
                self.checking = event
                self._story().start_gate(event.gate, event.purpose, event.expected_s, event.at)
            case events.GateEnded():
                self.checking = None
                judged = event.purpose in (*BEFORE_AGENT, *JUDGING)
                self._story().end_gate(event.gate, judged=judged, green=event.green, seconds=event.duration_s)
            case events.Working():
                self.working = event if event.share < 1 else None
            case events.Complete():
                self.complete = event
                if self._whole:
                    self._story().accept(event.proof, event.evidence, None)
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

    @property
    def agent(self) -> str:
        """The agent and its model; empty before the first run."""
        return f"{self.harness} {self.model or ''}".strip()

    def _begin(self, event: events.RunStarted) -> None:
        self.harness, self.model, self.sandbox = event.harness, event.model, event.sandbox
        self.limits = event.limits
        self.iteration = event.iteration
        self.started_at, self.ended_at = event.started_at or event.at, None
        self.ended = self.error = self.waiting = self.checking = self.working = self.complete = None
        self.stop_pending = False
        for story in self.stories.values():
            if story.mark is StoryMark.FAILED:
                story.mark = StoryMark.WAITING
        if self._whole:
            self._story().mark = StoryMark.RUNNING

    def _enter(self, event: events.StoryProgress) -> None:
        story = self._named(event.story_id, event.title)
        if self.current not in (None, event.story_id) and (before := self.stories.get(self.current or "")):
            before.mark = StoryMark.WAITING if before.mark is StoryMark.RUNNING else before.mark
        before_first = self.stories.pop(WHOLE, None)
        story.seen += before_first.seen if before_first else 0
        if not story.gates:
            story.gates = before_first.gates if before_first else self._gates_to_run()
        story.title, story.mark = event.title, StoryMark.RUNNING
        self.current, self.attempt, self.max_attempts = event.story_id, event.attempt, event.max_attempts

    def _gates_to_run(self) -> dict[str, GateView]:
        """Return the gates of the story before, none of which has judged the next one."""
        before = self.stories.get(self.current or WHOLE)
        return {name: GateView(expected_s=one.expected_s) for name, one in before.gates.items()} if before else {}

    def _save(self, event: events.CheckpointSaved) -> None:
        for story in self.stories.values():
            if story.since and not story.until and story.id != event.story_id:
                story.until = event.tree
        story = self._named(event.story_id, "")
        story.since, story.until = event.tree, ""
        story.at_checkpoint = frozenset(story.files)

    def _end_iteration(self, record: IterationRecord) -> None:
        story = self.stories.get(record.story_id or "") or self._story()
        self.charted.append(story.end(record))
        self._running = Usage()
        if record.outcome is not OutcomeKind.INTERRUPTED:
            self.iteration = max(self.iteration, record.iteration)

    def _end(self, event: events.RunEnded) -> None:
        self.ended, self.ended_at = event, event.ended_at or event.at
        self.waiting = self.checking = self.working = None
        current = WHOLE if self._whole else self.current
        story = self.stories.get(current) if current is not None else None
        if story is not None and story.mark is not StoryMark.DONE:
            if event.status is Status.DONE:
                story.mark = StoryMark.DONE
            else:
                story.mark = StoryMark.FAILED if event.status is Status.STUCK else StoryMark.WAITING

    def close(self, at: datetime | None = None) -> None:
        """End the run if its runner was killed: at the given time, else with its last event."""
        if self.ended is not None:
            return
        self.ended_at = at or self.timeline.heard_at
        self.waiting = self.checking = self.working = None
        for story in self.stories.values():
            if story.attempts and not story.attempts[-1].outcome and self.ended_at is not None:
                record = self._interrupted(story.attempts[-1], self.ended_at)
                self.timeline.fold(events.IterationEnded(record=record))
                self._end_iteration(record)
            story.mark = StoryMark.WAITING if story.mark is StoryMark.RUNNING else story.mark
        self.timeline.close(self.ended_at)

    def _interrupted(self, attempt: IterationFigures, at: datetime) -> IterationRecord:
        """Return the record that the next run will write of an attempt whose runner was killed."""
        begun = InFlight(
            iteration=attempt.iteration,
            run_id=attempt.run_id,
            started_at=attempt.began_at or at,
            harness=self.harness,
            model=self.model,
            story_id=attempt.story_id or None,
            attempt=attempt.number,
        )
        record = ended_early(begun, ended_at=max(at, begun.started_at))
        return msgspec.structs.replace(record, usage=self._running)

    def _named(self, story_id: str, title: str) -> StoryView:
        found = self.stories.get(story_id)
        if found is None:
            found = self.stories[story_id] = _new(story_id, title)
        return found

    def _story(self) -> StoryView:
        """Return the story of events that name none."""
        if self.current is None:
            return self._named(WHOLE, "The whole change")
        return self._named(self.current, "")


def _new(story_id: str, title: str) -> StoryView:
    return StoryView(story_id, title, spent=StoryReceipt(id=story_id))
