"""Decides when a person is told of a loop: done, stuck, a long wait, a budget at 80 %, a person is needed, killed."""

from datetime import datetime
from enum import StrEnum

import msgspec

from spool.domain import events
from spool.domain.budget import Budgets, Limit
from spool.domain.loop import LoopSummary
from spool.domain.progress import LoopProgress
from spool.domain.redaction import redacted
from spool.domain.stream import Usage
from spool.domain.text import counted, one_line
from spool.domain.verdict import ExitCode, Limits, Status

WARN_AT = 0.8
_LONGEST = 400


class NoticeKind(StrEnum):
    """Why a person is told."""

    DONE = "done"
    STUCK = "stuck"
    WAIT = "wait"
    BUDGET = "budget"
    PERSON = "person"
    KILLED = "killed"


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is told; an outlet gets it as JSON. Its texts are redacted."""

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

    def see(self, event: events.Event) -> list[Notice]:
        """Take an event into account, and return the notices of this moment."""
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

    def tick(self, now: datetime | None) -> list[Notice]:
        """Return a notice for each budget that has just reached 80 %."""
        run_s = (now - self._began_at).total_seconds() if now and self._began_at else 0.0
        found = []
        for limit, text in near(self._limits, self._earlier + self._progress.usage, run_s):
            if limit not in self._warned and self._progress.ended is None:
                self._warned.add(limit)
                found.append(self._notice(NoticeKind.BUDGET, "has used 80% of a budget", text, now))
        return found

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


def near(budgets: Budgets, used: Usage, run_s: float) -> list[tuple[Limit, str]]:
    """Return the budgets of a loop that are used up to 80 %."""
    found = []
    if budgets.max_cost_usd and (used.cost_usd or 0.0) >= WARN_AT * budgets.max_cost_usd:
        found.append((Limit.COST, f"${used.cost_usd:.2f} of ${budgets.max_cost_usd:.2f}"))
    if budgets.max_tokens and (used.tokens or 0) >= WARN_AT * budgets.max_tokens:
        found.append((Limit.TOKENS, f"{used.tokens} of {budgets.max_tokens} tokens"))
    if budgets.max_duration_s and run_s >= WARN_AT * budgets.max_duration_s:
        found.append((Limit.DURATION, f"{run_s / 60:.0f} of {budgets.max_duration_s / 60:.0f} minutes"))
    return found


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
