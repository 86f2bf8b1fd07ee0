"""What a loop keeps on disk: its current state, and one record per iteration."""

from datetime import datetime
from enum import StrEnum

import msgspec

from spool.domain.outcome import OutcomeKind
from spool.domain.promise import Veto
from spool.domain.stream import Usage
from spool.domain.verdict import Limits, Status

SCHEMA = 1
"""Version of everything that Spool writes. A reader refuses a newer one instead of guessing."""


class Phase(StrEnum):
    """What a running loop is doing now."""

    STARTING = "starting"
    PREPARING = "preparing"
    AGENT = "agent is working"
    RECORDING = "recording the result"
    PAUSING = "pausing after errors"
    WAITING = "waiting for a rate limit"
    ENDED = "ended"


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """The process that drives a loop, told apart from every other process that may get its pid."""

    pid: int
    start_time: str
    boot_id: str
    host: str


class InFlight(msgspec.Struct, frozen=True, kw_only=True):
    """An iteration that has begun. It is on disk before the agent is, so that no crash can lose it."""

    iteration: int
    run_id: str
    started_at: datetime
    harness: str
    model: str | None = None
    story_id: str | None = None
    attempt: int | None = None


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What one iteration changed in the working tree."""

    count: int
    files: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0


class IterationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One line of history.jsonl."""

    schema: int = SCHEMA
    iteration: int
    run_id: str
    started_at: datetime
    ended_at: datetime
    duration_s: float
    harness: str
    model: str | None
    exit_code: int | None
    outcome: OutcomeKind
    reason: str = ""
    note: str = ""
    completion_found: bool = False
    vetoes: tuple[Veto, ...] = ()
    changed_files: int | None = None
    """How many files this iteration changed; None where there is no git to tell."""
    files: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0
    usage: Usage = Usage()
    commit: str | None = None
    story_id: str | None = None
    attempt: int | None = None
    session: str = ""
    """The agent's own name for the conversation; with it a person can look into what was said."""
    log: str = ""


class StoryState(msgspec.Struct, frozen=True, kw_only=True):
    """Which story a loop works on, and how far it has come."""

    id: str
    title: str
    current: int
    total: int
    completed: int
    attempt: int = 1


class LoopState(msgspec.Struct, frozen=True, kw_only=True):
    """state.json: where the loop stands."""

    schema: int = SCHEMA
    plan: str = "ralph"
    """Which command drives it: `ralph` or `run`."""
    change: str
    module: str | None = None
    harness: str
    model: str | None = None
    story: StoryState | None = None
    status: Status
    reason: str = ""
    phase: Phase
    phase_since: datetime
    waiting_until: datetime | None = None
    iteration: int = 0
    run_iteration: int = 0
    limits: Limits = Limits()
    completion_promise: str = "COMPLETE"
    run_id: str
    runner: Runner
    journal_offset: int = 0
    """Where this run begins in the journal."""
    in_flight: InFlight | None = None
    started_at: datetime
    updated_at: datetime
    usage: Usage = Usage()
    """What all iterations of this loop used together."""


def interrupted_record(begun: InFlight, *, ended_at: datetime, reason: str = "the runner died") -> IterationRecord:
    """Return the record of an iteration that was cut short: never a success, never lost."""
    return IterationRecord(
        iteration=begun.iteration,
        run_id=begun.run_id,
        started_at=begun.started_at,
        ended_at=ended_at,
        duration_s=max(0.0, (ended_at - begun.started_at).total_seconds()),
        harness=begun.harness,
        model=begun.model,
        exit_code=None,
        outcome=OutcomeKind.INTERRUPTED,
        reason=reason,
        story_id=begun.story_id,
        attempt=begun.attempt,
    )
