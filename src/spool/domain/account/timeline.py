"""Sums up the timeline of a loop: runs, stretches of agent, gates and waits, boxes, and the receipt."""

from datetime import datetime, timedelta

from spool.domain.account.history import Activity, BoxPoint, LoopHistory, Run, Stretch
from spool.domain.account.story_history import is_trouble, outcome_of
from spool.domain.change.tasks import Boxes
from spool.domain.judging.gates.gate import BEFORE_AGENT, JUDGING
from spool.domain.loop import events
from spool.domain.loop.state import IterationRecord
from spool.domain.loop.summary import DIED
from spool.domain.loop.verdict import Status

_OF_AGENT = (events.AgentEvent, events.StoryEvent)


class Timeline:
    """Folds events into the stretches and sums of a history."""

    def __init__(self, history: LoopHistory) -> None:
        self._history = history
        self.heard_at: datetime | None = None
        self._gate: events.GateStarted | None = None
        self._wait: events.Waiting | None = None

    def fold(self, event: events.Event) -> None:
        """Apply one event."""
        if isinstance(event, _OF_AGENT):
            self.heard_at = event.at or self.heard_at
            return
        if self._wait is not None:
            self._end_wait(event)
        match event:
            case events.RunStarted():
                self.close()
                self._begin_run(event)
            case events.IterationStarted():
                self._count(event.at, event.boxes)
            case events.IterationEnded():
                self._end_iteration(event.record)
            case events.Reverted():
                self._history.reverts += 1
            case events.StoryDone():
                self._history.receipt = self._history.receipt.with_story_done(event.story_id, event.proof)
                self._count(event.at, event.boxes)
            case events.Complete():
                self._count(event.at, event.boxes)
            case events.GateStarted():
                self._gate = event
            case events.GateEnded():
                self._end_gate(event)
            case events.Waiting():
                self._wait = event
            case events.Warned(about="commit"):
                self._history.failed_commits += (event.message,)
            case events.RunEnded():
                self._end_run(event.ended_at or event.at, event.status, event.reason)
                self._history.exit_code, self._history.bound = event.exit_code, event.bound
            case _:
                pass
        self.heard_at = event.at or self.heard_at

    def _end_iteration(self, record: IterationRecord) -> None:
        self._history.receipt = self._history.receipt.with_iteration(record)
        self._history.refused_promises += len(record.vetoes)
        self._history.refused_claims += record.rejected is not None
        self._count(record.ended_at, record.boxes)
        self._history.stretches.append(
            Stretch(
                activity=Activity.AGENT,
                began_at=record.started_at,
                ended_at=record.started_at + timedelta(seconds=record.duration_s),
                label=f"iteration {record.iteration}",
                good=not is_trouble(outcome_of(record)),
            )
        )

    def _end_gate(self, event: events.GateEnded) -> None:
        began, self._gate = self._gate, None
        if event.purpose in BEFORE_AGENT:
            self._history.baseline_s = round(self._history.baseline_s + event.duration_s, 3)
        if event.at is None:
            return
        start = began.at if began is not None and began.at else event.at - timedelta(seconds=event.duration_s)
        good = event.green if event.purpose in JUDGING else None
        self._history.stretches.append(
            Stretch(activity=Activity.GATES, began_at=start, ended_at=event.at, label=event.gate, good=good)
        )

    def _end_wait(self, event: events.Event) -> None:
        """End a wait with its own event; in a journal of an older Spool, with the next one."""
        wait, self._wait = self._wait, None
        assert wait is not None  # noqa: S101 - the caller has asked
        if isinstance(event, events.RunStarted):  # the runner was killed while it waited
            return
        if isinstance(event, events.WaitEnded):
            seconds = event.seconds
        else:
            passed = (event.at - wait.at).total_seconds() if event.at and wait.at else wait.seconds
            if isinstance(event, events.StopRequested):  # the wait's own end follows
                self._wait = wait
                return
            seconds = min(wait.seconds, max(0.0, passed))
        self._history.receipt = self._history.receipt.with_wait(seconds)
        if wait.at is not None:
            end = wait.at + timedelta(seconds=seconds)
            self._history.stretches.append(
                Stretch(activity=Activity.WAIT, began_at=wait.at, ended_at=end, label=wait.reason, good=None)
            )

    def runs_since(self, since: datetime | None) -> list[Run]:
        """Return the runs that were active since then."""
        return [run for run in self._history.runs if since is None or run.ended_at is None or run.ended_at >= since]

    def elapsed_s(self, now: datetime, since: datetime | None = None) -> float:
        """Return the time of the runs by the clock, in seconds; a running one is counted up to now."""
        total = 0.0
        for run in self.runs_since(since):
            if run.began_at is not None:
                began = max(run.began_at, since) if since else run.began_at
                total += max(0.0, ((run.ended_at or now) - began).total_seconds())
        return total

    def _begin_run(self, event: events.RunStarted) -> None:
        self._history.runs.append(Run(event.run_id, event.harness, event.model, event.started_at or event.at))
        self._history.status, self._history.reason = Status.RUNNING, ""
        self._history.exit_code, self._history.bound = None, ""

    def _end_run(self, at: datetime | None, status: Status, reason: str) -> None:
        """End the last run, unless it has ended: a run that fails before its loop only ends."""
        if self._history.runs and self._history.runs[-1].status is Status.RUNNING:
            run = self._history.runs[-1]
            run.ended_at, run.status, run.reason = at, status, reason
            self._history.status, self._history.reason = status, reason

    def close(self, at: datetime | None = None) -> None:
        """End a run that was killed: at the given time, else with its last event."""
        self._end_run(at or self.heard_at, Status.STOPPED, DIED)
        self._gate = None

    def _count(self, at: datetime | None, boxes: Boxes | None) -> None:
        if at is None or boxes is None:
            return
        last = self._history.boxes[-1] if self._history.boxes else None
        if last is None or (last.done, last.total) != (boxes.done, boxes.total):
            self._history.boxes.append(BoxPoint(at=at, done=boxes.done, total=boxes.total))
