"""The history of a loop as one value: where it stands, and what it took, for every view and as JSON."""

from datetime import datetime
from enum import StrEnum

import msgspec

from spool.domain.account.story_history import (
    WHOLE,
    DiffStat,
    DiscardedWork,
    IterationFigures,
    StoryHistory,
    StoryStanding,
)
from spool.domain.agent.sandbox_rules import NOT_SANDBOXED
from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.gate import Proof
from spool.domain.loop.events import GateStarted, Waiting, Working
from spool.domain.loop.receipt import Receipt
from spool.domain.loop.verdict import Status, end_word


class Activity(StrEnum):
    """The activity in a stretch of time."""

    AGENT = "agent"
    GATES = "gates"
    WAIT = "wait"


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time with one activity."""

    activity: Activity
    began_at: datetime
    ended_at: datetime
    label: str
    good: bool | None = None
    """Whether it went well; None if that is not said."""

    @property
    def seconds(self) -> float:
        """Its length by the clock."""
        return max(0.0, (self.ended_at - self.began_at).total_seconds())


class BoxPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The boxes at one moment."""

    at: datetime
    done: int
    total: int


class Run(msgspec.Struct):
    """One run of the loop."""

    run_id: str
    harness: str
    model: str | None
    began_at: datetime | None
    ended_at: datetime | None = None
    status: Status = Status.RUNNING
    reason: str = ""


class LoopNow(msgspec.Struct, frozen=True, kw_only=True):
    """What a running loop does at this moment; nothing, if it does not run."""

    current: str | None = None
    """The story being worked on."""
    attempt: int = 1
    max_attempts: int | None = None
    checking: GateStarted | None = None
    waiting: Waiting | None = None
    working: Working | None = None
    stop_pending: bool = False
    heard_at: datetime | None = None
    """When its last event was written."""
    usage: Usage = Usage()
    """The usage of all iterations, the running one included."""


class LoopHistory(msgspec.Struct, kw_only=True):
    """A loop's whole history; its events are folded into it by `LoopProgress`."""

    change: str
    agent: str = ""
    """The agent and its model; empty before the first run."""
    sandbox: str = NOT_SANDBOXED
    """The sandbox around it, in words."""
    status: Status = Status.STOPPED
    exit_code: int | None = None
    """None while it runs, or if its runner died."""
    reason: str = ""
    """The story that it concerns, the cause, and why there was no other attempt."""
    bound: str = ""
    """The end of the reason: why there was no other attempt."""
    proof: Proof | None = None
    evidence: str = ""
    kept: str = ""
    """The story whose unfinished work is in the working tree."""
    began_at: datetime | None = None
    ended_at: datetime | None = None
    elapsed_s: float = 0.0
    """The time of its runs by the clock."""
    now: LoopNow = LoopNow()
    stories: list[StoryHistory] = []
    attempts: list[IterationFigures] = []
    """Every iteration, in order."""
    receipt: Receipt = Receipt()
    baseline_s: float = 0.0
    """Seconds of the gates before the first agent."""
    stretches: list[Stretch] = []
    boxes: list[BoxPoint] = []
    runs: list[Run] = []
    commits: tuple[str, ...] = ()
    failed_commits: tuple[str, ...] = ()
    reverts: int = 0
    refused_claims: int = 0
    refused_promises: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The status, as the end of its last run says it."""
        return end_word(self.status, self.exit_code)

    @property
    def cause(self) -> str:
        """The reason, without why there was no other attempt."""
        return self.reason.removesuffix(f"; {self.bound}") if self.bound else self.reason

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

    @property
    def changed(self) -> DiffStat:
        """The size of all changes."""
        return DiffStat(
            files=len({name for story in self.stories for name in story.files}),
            added=sum(story.added for story in self.stories),
            removed=sum(story.removed for story in self.stories),
            commits=len(self.commits),
        )

    def of_story(self, story_id: str) -> list[IterationFigures]:
        """Return the iterations of a story."""
        return [one for one in self.attempts if one.story_id == story_id]
