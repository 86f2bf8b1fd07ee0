"""`.claude/loop-state.json`: what other tools read of a loop in a worktree."""

from datetime import datetime

import msgspec

from spool.domain.criteria import Criterion
from spool.domain.state import SCHEMA, IterationRecord, Runner
from spool.domain.stream import Usage
from spool.domain.verdict import Status


class LoopIteration(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration that has ended."""

    n: int
    started: datetime
    ended: datetime
    exit_reason: str
    """`finished` where the agent ended by itself, else what ended it: `timeout`, `interrupted`, `harness error` …"""
    commits: tuple[str, ...] = ()
    """The commits made in this iteration, the oldest first."""
    done_check: bool | None = None
    """Whether the loop was done after it; None where that was not looked at."""
    done_reason: str = ""
    progress: bool | None = None
    changed_files: int | None = None
    tokens: int | None = None
    cost: float | None = None
    """In US dollars."""
    log: str = ""
    """What the agent printed, byte for byte."""


class LoopFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where a loop in a worktree stands."""

    schema: int = SCHEMA
    change_id: str
    task: str
    done_criteria: Criterion
    done_command: str | None = None
    max_iterations: int | None = None
    """The limit of this run; None where there is none."""
    current_iteration: int = 0
    """The last iteration that has begun, counted over the loop's life."""
    run_iteration: int = 0
    """The same, counted in this run."""
    stall_iterations: int = 0
    """Iterations without progress after which the loop is stuck; 0 where there is no such rule."""
    token_budget: int = 0
    cost_budget: float = 0.0
    status: Status
    reason: str = ""
    terminal: str = ""
    terminal_pid: int
    runner: Runner
    """The process that `stop` asks to end, told by more than its pid."""
    run_id: str
    harness: str
    model: str | None = None
    worktree: str
    state: str
    """The folder with the journal, the history and the raw logs."""
    started_at: datetime
    updated_at: datetime
    ended_at: datetime | None = None
    tokens: int | None = None
    cost: float | None = None
    iterations: tuple[LoopIteration, ...] = ()


def iteration_of(record: IterationRecord) -> LoopIteration:
    """Return what history tells of an iteration."""
    return LoopIteration(
        n=record.iteration,
        started=record.started_at,
        ended=record.ended_at,
        exit_reason=str(record.outcome),
        changed_files=record.changed_files,
        tokens=record.usage.tokens,
        cost=record.usage.cost_usd,
        log=record.log,
    )


def used(iterations: tuple[LoopIteration, ...]) -> Usage:
    """Return what all iterations used together, as far as the agent told."""
    tokens = [one.tokens for one in iterations if one.tokens is not None]
    costs = [one.cost for one in iterations if one.cost is not None]
    return Usage(tokens_in=sum(tokens) if tokens else None, cost_usd=sum(costs) if costs else None)
