"""Decides when to notify a person: a loop is done, stuck, killed or waits long, a budget is at 80 %, help is needed."""

from datetime import datetime
from enum import StrEnum

import msgspec

from spool.domain.account.progress import LoopProgress
from spool.domain.agent.stream import Usage
from spool.domain.loop import events
from spool.domain.loop.budget import Limit, Used, used_of
from spool.domain.loop.summary import LoopSummary
from spool.domain.loop.verdict import ExitCode, Limits, Status
from spool.domain.text.plain_text import counted, one_line
from spool.domain.text.redaction import redacted

WARN_AT = 0.8
_LONGEST = 400


class NoticeKind(StrEnum):
    """The reason for a notice."""

    DONE = "done"
    STUCK = "stuck"
    WAIT = "wait"
    BUDGET = "budget"
    PERSON = "person"
    KILLED = "killed"


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice for a person; an outlet gets it as JSON. Its texts are redacted."""

    kind: NoticeKind
    title: str
    text: str
    change: str
    project: str
    run_id: str
    at: datetime | None = None
    iterations: int = 0
    tokens: int | None = None
    cost_usd: float | None = None


class NoticeFinder:
    """Follows a run's events and returns the notices that they give rise to."""

    def __init__(self, change: str, project: str, run_id: str, *, wait_s: float, secrets: tuple[str, ...] = ()) -> None:
        self._names = (one_line(change, 120), one_line(project, 60), run_id)
        self._wait_s = wait_s
        self._secrets = secrets
        self._progress = LoopProgress(change)
        self._limits = Limits()
        self._earlier = Usage()
        self._began_at: datetime | None = None
        self._hopeless = ""
        self._warned: set[Limit] = set()
        self._today = Usage()

    def see(self, event: events.Event) -> list[Notice]:
        """Process an event, and return the notices that are due now."""
        self._progress.fold(event)
        match event:
            case events.RunStarted():
                self._limits, self._earlier, self._began_at = event.limits, event.usage, event.at
            case events.IterationEnded(record=record):
                self._hopeless = record.reason if record.hopeless else ""
            case events.Waiting() if self._wait_s and event.seconds >= self._wait_s:
                minutes = round(event.seconds / 60)
                return [self._notice(NoticeKind.WAIT, f"waits {counted(minutes, 'minute')}", event.reason, event.at)]
            case events.RunEnded():
                return self._ended(event)
            case _:
                pass
        return self.tick(event.at)

    def tick(self, now: datetime | None, today: Usage | None = None) -> list[Notice]:
        """Return a notice for each budget that has just reached 80 %; `today` is what all loops have used by now."""
        self._today = today or self._today
        if self._progress.ended is not None:
            return []
        run_s = (now - self._began_at).total_seconds() if now and self._began_at else 0.0
        used, day = self._earlier + self._progress.usage, self._today + self._progress.running_usage
        near = [one for one in used_of(self._limits, used, run_s=run_s, today=day) if one.share >= WARN_AT]
        found = [one for one in near if one.limit not in self._warned]
        self._warned |= {one.limit for one in found}
        return [self._notice(NoticeKind.BUDGET, "has used 80% of a budget", _spent(one), now) for one in found]

    def _ended(self, event: events.RunEnded) -> list[Notice]:
        if event.status is Status.DONE:
            complete = self._progress.complete
            proof = f"{complete.proof}: {complete.evidence}" if complete and complete.proof else event.reason
            return [self._notice(NoticeKind.DONE, "is done", proof, event.at)]
        if self._hopeless:
            return [self._notice(NoticeKind.PERSON, "needs you", self._hopeless, event.at)]
        if event.status is Status.STUCK or event.exit_code == ExitCode.FAILED:
            return [self._notice(NoticeKind.STUCK, f"is {event.status}", event.reason, event.at)]
        return []  # a person stopped it, and knows

    def _notice(self, kind: NoticeKind, what: str, text: str, at: datetime | None) -> Notice:
        change, project, run_id = self._names
        used = self._earlier + self._progress.usage
        return Notice(
            kind=kind,
            title=redacted(f"{change} {what}", self._secrets),
            text=redacted(one_line(text, _LONGEST), self._secrets),
            change=change,
            project=project,
            run_id=run_id,
            at=at,
            iterations=self._progress.iteration,
            tokens=used.tokens,
            cost_usd=used.cost_usd,
        )


def _spent(one: Used) -> str:
    """Return the used part of a budget."""
    match one.limit:
        case Limit.COST:
            return f"${one.used:.2f} of ${one.most:.2f}"
        case Limit.COST_PER_DAY:
            return f"${one.used:.2f} of ${one.most:.2f} today, all loops together"
        case Limit.TOKENS:
            return f"{one.used:.0f} of {one.most:.0f} tokens"
        case Limit.TOKENS_PER_DAY:
            return f"{one.used:.0f} of {one.most:.0f} tokens today, all loops together"
        case _:
            return f"{one.used / 60:.0f} of {one.most / 60:.0f} minutes"


def killed(loop: LoopSummary) -> Notice:
    """Return the notice of a runner that was killed."""
    return Notice(
        kind=NoticeKind.KILLED,
        title=f"{one_line(loop.change, 120)} was killed",
        text="its runner died; the same command continues it",
        change=one_line(loop.change, 120),
        project=one_line(loop.name, 60),
        run_id=loop.run_id,
        at=loop.ended_at,
        iterations=loop.iteration,
        tokens=loop.usage.tokens,
        cost_usd=loop.usage.cost_usd,
    )
