"""Folds a loop's events into its history. Its size does not grow with the agent's output."""

from collections import deque
from collections.abc import Iterable
from datetime import datetime

import msgspec

from spool.domain.account.history import Activity, LoopHistory, LoopNow, Stretch
from spool.domain.account.story_history import WHOLE, DiscardedWork, GateView, IterationFigures, StoryHistory, StoryMark
from spool.domain.account.timeline import Timeline
from spool.domain.agent.stream import Done, Usage, UsageSoFar
from spool.domain.change.story import StoryList
from spool.domain.judging.gates.gate import BEFORE_AGENT, JUDGING, Proof
from spool.domain.loop import events
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.state import InFlight, IterationRecord, ended_early
from spool.domain.loop.verdict import Limits, Status
from spool.domain.text.plain_text import one_line

__all__ = ["WHOLE", "IterationFigures", "LoopProgress", "StoryHistory", "StoryMark"]
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
    """A loop's history so far, and what it does now; with `since`, only what happened from then on is counted."""

    def __init__(self, change: str, *, whole: bool = False, since: datetime | None = None) -> None:
        self.history = LoopHistory(change=change)
        self._timeline = Timeline(self.history)
        self._since = since
        self._whole = whole
        """Whether the loop has no stories."""
        self.harness = ""
        self.model: str | None = None
        self.limits = Limits()
        self.stories: dict[str, StoryHistory] = {}
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
        self._listed: tuple[tuple[str, str, bool], ...] = ()
        self._heard: set[str] = set()
        """The stories with events."""
        self._reasons: dict[str, str] = {}
        """Why the last attempt of each story ended."""
        self._committed: set[str] = set()
        self._saved: dict[str, tuple[tuple[str, ...], int, int]] = {}
        """What the checkpoints have of the stories' changes, and a revert keeps: files, lines added and removed."""

    def elapsed_s(self, now: datetime) -> float:
        """Return the loop's running time in seconds, including earlier runs."""
        return self._timeline.elapsed_s(now, self._since)

    def at(self, now: datetime) -> LoopHistory:
        """Return the history up to now, as a value that no later event changes."""
        history, runs = self.history, self._timeline.runs_since(self._since)
        attempts = sorted(history.attempts, key=lambda one: one.iteration)
        return msgspec.structs.replace(
            history,
            began_at=runs[0].began_at if runs else None,
            ended_at=runs[-1].ended_at if runs else None,
            elapsed_s=round(self.elapsed_s(now), 3),
            now=self._now(),
            stories=[
                msgspec.structs.replace(story, seconds=round(self.spent_s(story, now), 3)) for story in history.stories
            ],
            attempts=attempts,
            stretches=[*history.stretches, *_running(attempts, now)],
            boxes=[*history.boxes],
            runs=runs,
            warnings=tuple(one_line(event.message, 400) for event in self.warnings if event.about != "commit"),
        )

    def _now(self) -> LoopNow:
        if self.ended_at is not None:
            return LoopNow()
        return LoopNow(**{name: getattr(self, name) for name in LoopNow.__struct_fields__})

    def spent_s(self, story: StoryHistory, now: datetime) -> float:
        """Return the time spent on a story in seconds, including a running attempt."""
        last = self.history.attempts[-1] if self.history.attempts else None
        runs = last is not None and not last.outcome and last.story_id == story.id
        return story.seconds + (last.lasts_s(now) if last and runs and story.mark is StoryMark.RUNNING else 0.0)

    def left_s(self, now: datetime) -> float | None:
        """Return the seconds until all stories are done, at the pace of those that are; None if that is unknown."""
        shown = self.history.stories
        done = [story for story in shown if story.mark is StoryMark.DONE and story.iteration]
        left = len(shown) - self.completed
        if self._whole or not done or not left or self.ended is not None:
            return None
        pace_s = sum(story.seconds + story.gates_s for story in done) / len(done)
        current = self.stories.get(self.current or WHOLE)
        open_now = current is not None and current.mark is not StoryMark.DONE
        begun_s = self.spent_s(current, now) + current.gates_s if current and open_now else 0.0
        wait_s = (self.waiting.until - now).total_seconds() if self.waiting else 0.0
        return max(0.0, wait_s) + pace_s * (left - 1) + max(0.0, pace_s - begun_s)

    def run_s(self, now: datetime) -> float:
        """Return how long the current run has lasted, in seconds."""
        return max(0.0, ((self.ended_at or now) - self.started_at).total_seconds()) if self.started_at else 0.0

    @property
    def heard_at(self) -> datetime | None:
        """When its last event was written."""
        return self._timeline.heard_at

    @property
    def usage(self) -> Usage:
        """The usage of all iterations, the running one included."""
        return self.history.receipt.usage + self._running

    @property
    def running_usage(self) -> Usage:
        """The running agent's usage so far."""
        return self._running

    @property
    def completed(self) -> int:
        """The number of finished stories."""
        return sum(story.mark is StoryMark.DONE for story in self.history.stories)

    def know(self, stories: StoryList) -> bool:
        """Update the list of stories, in order; return whether it changed."""
        listed = tuple((story.id, story.title, story.complete) for story in stories.stories)
        if listed == self._listed:
            return False
        self._listed = listed
        known = self.stories
        self.stories = {}
        for story_id, title, complete in listed:
            story = known.pop(story_id, None) or StoryHistory(id=story_id, title=title)
            story.title = title
            if story_id != self.current and (complete or story.mark is StoryMark.DONE):
                story.become(StoryMark.DONE if complete else StoryMark.WAITING)
            self.stories[story_id] = story
        self.stories |= {name: one for name, one in known.items() if name in self._heard}  # removed ones stay
        self._list()
        return True

    def fold(self, event: events.Event) -> StoryHistory:
        """Apply one event and return its story."""
        if self._since is not None and event.at is not None and event.at < self._since:
            if isinstance(event, events.RunStarted | events.RunEnded):
                self._timeline.fold(event)
            if isinstance(event, _CONTEXT):
                self._apply(event)
            return self._story()
        self._timeline.fold(event)
        self._apply(event)
        story = self._story()
        self._heard.add(story.id)
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
                story.begin(event.iteration)
                self.history.attempts.append(
                    IterationFigures(event.iteration, self.attempt, story.id, event.run_id, began_at=event.at)
                )
            case events.StoryProgress():
                self._enter(event)
            case events.CheckpointSaved():
                self._save(event)
            case events.Reverted():
                self._revert(event)
            case events.StoryDone():
                self._accept(self._named(event.story_id, event.title), event, event.commit)
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
                self.history.proof, self.history.evidence = event.proof or Proof.WORD, event.evidence
                if self._whole:
                    self._accept(self._story(), event, None)
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

    def agent_is(self, harness: str, model: str | None, sandbox: str) -> None:
        """Note which agent works, and in which sandbox."""
        self.harness, self.model = harness, model
        self.history.agent, self.history.sandbox = f"{harness} {model or ''}".strip(), sandbox

    def _begin(self, event: events.RunStarted) -> None:
        self.agent_is(event.harness, event.model, event.sandbox)
        self.history.proof, self.history.evidence, self.history.kept = None, "", ""
        self.limits = event.limits
        self.iteration = event.iteration
        self.started_at, self.ended_at = event.started_at or event.at, None
        self.ended = self.error = self.waiting = self.checking = self.working = self.complete = None
        self.stop_pending = False
        for story in self.stories.values():
            if story.mark is StoryMark.FAILED:
                story.become(StoryMark.WAITING)
        if self._whole:
            self._story().become(StoryMark.RUNNING)

    def _enter(self, event: events.StoryProgress) -> None:
        story = self._named(event.story_id, event.title)
        before = self.stories.get(self.current) if self.current not in (None, event.story_id) else None
        if before is not None and before.mark is StoryMark.RUNNING:
            before.become(StoryMark.WAITING)
        before_first = self.stories.pop(WHOLE, None)
        self._list()
        if not story.gates:
            story.gates = before_first.gates if before_first else self._gates_to_run()
        story.title = event.title
        story.become(StoryMark.RUNNING)
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
        self._saved[story.id] = (story.files, story.added, story.removed)

    def _revert(self, event: events.Reverted) -> None:
        story = self._named(event.story_id, "")
        story.files, story.added, story.removed = self._saved.get(story.id, ((), 0, 0))
        if event.kept_as:
            story.discarded += (DiscardedWork(at=event.at, iteration=story.iteration, name=event.kept_as),)
            last = next((one for one in reversed(self.history.attempts) if one.story_id == story.id), None)
            if last is not None:
                last.discarded = event.kept_as

    def _accept(self, story: StoryHistory, event: events.StoryDone | events.Complete, commit: str | None) -> None:
        story.accept(event.proof, event.evidence)
        self._commit(story, (commit,) if commit else ())

    def _commit(self, story: StoryHistory, commits: tuple[str, ...]) -> None:
        new = tuple(name for name in commits if name not in self._committed)
        self._committed.update(new)
        story.commits += new
        self.history.commits += new

    def _end_iteration(self, record: IterationRecord) -> None:
        story = self.stories.get(record.story_id or "") or self._story()
        begun = (one for one in reversed(self.history.attempts) if one.iteration == record.iteration)
        attempt = next(begun, None)
        if attempt is None:
            attempt = IterationFigures(record.iteration, record.attempt or 1)
            story.attempts, story.iteration = story.attempts + 1, record.iteration
            self.history.attempts.append(attempt)
        attempt.end(record)
        attempt.same_reason = attempt.reason == self._reasons.get(story.id, "") != ""
        self._reasons[story.id] = attempt.reason
        story.end(record, attempt)
        self._commit(story, attempt.commits)
        self._running = Usage()
        if record.outcome is not OutcomeKind.INTERRUPTED:
            self.iteration = max(self.iteration, record.iteration)

    def _end(self, event: events.RunEnded) -> None:
        self.ended, self.ended_at = event, event.ended_at or event.at
        self.history.kept = self.error.kept if self.error else ""
        self.waiting = self.checking = self.working = None
        current = WHOLE if self._whole else self.current
        story = self.stories.get(current) if current is not None else None
        if story is not None and story.mark is not StoryMark.DONE:
            if event.status is Status.DONE:
                story.become(StoryMark.DONE)
            else:
                story.become(StoryMark.FAILED if event.status is Status.STUCK else StoryMark.WAITING)

    def close(self, at: datetime | None = None) -> None:
        """End the run if its runner was killed: at the given time, else with its last event."""
        if self.ended is not None:
            return
        self.ended_at = at or self._timeline.heard_at
        self.waiting = self.checking = self.working = None
        for attempt in self.history.attempts[-1:]:
            if not attempt.outcome and self.ended_at is not None:
                record = self._interrupted(attempt, self.ended_at)
                self._timeline.fold(events.IterationEnded(record=record))
                self._end_iteration(record)
        for story in self.stories.values():
            if story.mark is StoryMark.RUNNING:
                story.become(StoryMark.WAITING)
        self._timeline.close(self.ended_at)

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

    def _named(self, story_id: str, title: str) -> StoryHistory:
        found = self.stories.get(story_id)
        if found is None:
            found = self.stories[story_id] = StoryHistory(id=story_id, title=title)
            self._list()
        return found

    def _list(self) -> None:
        """List the stories in the history, without the place of events that came before the first one."""
        self.history.stories = [one for one in self.stories.values() if one.id != WHOLE] or [*self.stories.values()]

    def _story(self) -> StoryHistory:
        """Return the story of events that name none."""
        if self.current is None:
            return self._named(WHOLE, "The whole change")
        return self._named(self.current, "")


def _running(attempts: list[IterationFigures], now: datetime) -> Iterable[Stretch]:
    """Yield the stretch of an agent that is still working."""
    if attempts and not attempts[-1].outcome and attempts[-1].began_at is not None:
        label = f"iteration {attempts[-1].iteration}"
        yield Stretch(activity=Activity.AGENT, began_at=attempts[-1].began_at, ended_at=now, label=label)
