"""The account of a loop as one value, for reports and pages."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from spool.domain.account.progress import LoopProgress
from spool.domain.account.story_history import (
    WHOLE,
    DiscardedWork,
    IterationFigures,
    StoryMark,
    StoryStanding,
    StoryView,
)
from spool.domain.account.timeline import Activity, BoxPoint, Run, Stretch
from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.gate import Proof
from spool.domain.loop.receipt import Receipt
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import one_line


class StoryAccount(msgspec.Struct, frozen=True, kw_only=True):
    """One story in the account."""

    id: str
    title: str
    standing: StoryStanding
    evidence: str
    attempts: int
    seconds: float
    gates_s: float
    usage: Usage
    commits: tuple[str, ...]
    discarded: tuple[DiscardedWork, ...]
    files: tuple[str, ...]
    since: str
    """The tree in which it began; empty without a checkpoint."""
    until: str
    """The tree of the next checkpoint; empty if the working tree is to compare with."""


class LoopHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A loop's whole history."""

    change: str
    agent: str
    """The agent and its model."""
    sandbox: str
    """The sandbox around it, in words."""
    status: Status
    reason: str
    proof: Proof | None
    evidence: str
    kept: str
    """The story whose unfinished work is in the working tree."""
    began_at: datetime | None
    ended_at: datetime | None
    elapsed_s: float
    """The time of its runs by the clock."""
    stories: tuple[StoryAccount, ...]
    attempts: tuple[IterationFigures, ...]
    """Every iteration, in order."""
    receipt: Receipt
    baseline_s: float
    """Seconds of the gates before the first agent."""
    stretches: tuple[Stretch, ...]
    boxes: tuple[BoxPoint, ...]
    runs: tuple[Run, ...]
    commits: tuple[str, ...]
    failed_commits: tuple[str, ...]
    reverts: int
    refused_claims: int
    refused_promises: int
    warnings: tuple[str, ...]

    @property
    def waits(self) -> tuple[Stretch, ...]:
        """The waits for rate limits and after errors."""
        return tuple(one for one in self.stretches if one.activity is Activity.WAIT)

    @property
    def discarded(self) -> tuple[DiscardedWork, ...]:
        """All discarded work."""
        return tuple(one for story in self.stories for one in story.discarded)

    @property
    def standings(self) -> dict[StoryStanding, int]:
        """The number of stories per verdict, the best first."""
        found = [story.standing for story in self.stories]
        return {one: found.count(one) for one in StoryStanding if one in found}

    @property
    def whole(self) -> bool:
        """Whether the loop has no stories."""
        return len(self.stories) == 1 and self.stories[0].id == WHOLE


def account_of(progress: LoopProgress, now: datetime) -> LoopHistory:
    """Return the account of a loop so far."""
    timeline, ended = progress.timeline, progress.ended
    runs = tuple(timeline.runs_since(progress.since))
    last = timeline.runs[-1] if timeline.runs else None
    stories = tuple(_story(story, now) for story in progress.shown.values())
    attempts = sorted((one for story in progress.stories.values() for one in story.attempts), key=_number)
    complete = progress.complete
    return LoopHistory(
        change=progress.change,
        agent=progress.agent,
        sandbox=progress.sandbox,
        status=last.status if last else Status.STOPPED,
        reason=last.reason if last else "",
        proof=(complete.proof or Proof.WORD) if complete else None,
        evidence=complete.evidence if complete else "",
        kept=progress.error.kept if progress.error and ended else "",
        began_at=runs[0].began_at if runs else None,
        ended_at=runs[-1].ended_at if runs else None,
        elapsed_s=round(progress.elapsed_s(now), 3),
        stories=stories,
        attempts=tuple(attempts),
        receipt=timeline.receipt,
        baseline_s=timeline.baseline_s,
        stretches=(*timeline.stretches, *_running(attempts, now)),
        boxes=tuple(timeline.boxes),
        runs=runs,
        commits=_unique(name for story in progress.stories.values() for name in story.commits),
        failed_commits=tuple(timeline.failed_commits),
        reverts=timeline.reverts,
        refused_claims=timeline.refused_claims,
        refused_promises=timeline.vetoes,
        warnings=tuple(one_line(event.message, 400) for event in progress.warnings if event.about != "commit"),
    )


def _story(story: StoryView, now: datetime) -> StoryAccount:
    return StoryAccount(
        id=story.id,
        title=story.title,
        standing=story.standing,
        evidence=story.evidence,
        attempts=story.tries,
        seconds=round(story.spent_s(now) if story.mark is StoryMark.RUNNING else story.seconds, 3),
        gates_s=story.spent.gates_s,
        usage=story.usage,
        commits=tuple(story.commits),
        discarded=tuple(story.discarded),
        files=tuple(sorted(story.files)),
        since=story.since,
        until=story.until,
    )


def _running(attempts: list[IterationFigures], now: datetime) -> Iterable[Stretch]:
    """Yield the stretch of an agent that is still working."""
    if attempts and not attempts[-1].outcome and attempts[-1].began_at is not None:
        label = f"iteration {attempts[-1].iteration}"
        yield Stretch(activity=Activity.AGENT, began_at=attempts[-1].began_at, ended_at=now, label=label)


def _number(attempt: IterationFigures) -> int:
    return attempt.iteration


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
