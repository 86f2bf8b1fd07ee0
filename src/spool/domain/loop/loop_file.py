"""The format of `.claude/loop-state.json`: a worktree loop, for other tools."""

from datetime import datetime

import msgspec

from spool.domain.judging.gates.gate import refusal
from spool.domain.loop.criteria import Criterion, check_promise, exit_reason
from spool.domain.loop.receipt import Receipt
from spool.domain.loop.state import IterationRecord
from spool.domain.loop.summary import SCHEMA, LoopSummary, Runner
from spool.domain.loop.verdict import Status
from spool.domain.text.common_fields import carried


class LoopIteration(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration that has ended."""

    n: int
    started: datetime
    ended: datetime
    exit_reason: str
    """`finished` if the agent exited on its own, else what ended it: `timeout`, `interrupted`, `harness error` …"""
    commits: tuple[str, ...] = ()
    """The commits made in this iteration, oldest first."""
    done_check: bool | None = None
    """Whether the loop was done after it; None if not checked."""
    done_reason: str = ""
    progress: bool | None = None
    changed_files: int | None = None
    tokens: int | None = None
    cost: float | None = None
    """In US dollars."""
    log: str = ""
    """Path of the agent's raw output."""


class LoopFile(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a worktree loop."""

    schema: int = SCHEMA
    change_id: str
    task: str
    done_criteria: Criterion
    done_command: str | None = None
    max_iterations: int | None = None
    """The limit of this run; None means unlimited."""
    current_iteration: int = 0
    """The last iteration started, counted over all runs."""
    run_iteration: int = 0
    """The same, counted in this run."""
    stall_iterations: int = 0
    """Iterations without progress after which the loop is stuck; 0 disables."""
    token_budget: int = 0
    cost_budget: float = 0.0
    duration_budget_s: float = 0.0
    """The time limit of a run, in seconds; 0 disables."""
    status: Status
    reason: str = ""
    terminal: str = ""
    terminal_pid: int
    runner: Runner
    """The process that `stop` signals, identified by more than its pid."""
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
    receipt: Receipt = Receipt()
    iterations: tuple[LoopIteration, ...] = ()


def iteration_of(record: IterationRecord, criterion: str) -> LoopIteration:
    """Convert a record of the history to this format."""
    gates = (check_promise(record.as_outcome()),) if criterion == Criterion.PROMISE else record.gates
    return LoopIteration(
        n=record.iteration,
        started=record.started_at,
        ended=record.ended_at,
        exit_reason=exit_reason(record.as_outcome()),
        done_check=refusal(gates) is None if gates else None,
        done_reason=gates[-1].why if gates else "",
        tokens=record.usage.tokens,
        cost=record.usage.cost_usd,
        **carried(record, LoopIteration),
    )


def loop_file(loop: LoopSummary, iterations: tuple[LoopIteration, ...]) -> LoopFile:
    """Convert a loop to this format."""
    same = carried(loop, LoopFile) | {"done_command": loop.done_command or None}
    return LoopFile(
        change_id=loop.change,
        done_criteria=Criterion(loop.criterion),
        max_iterations=loop.limits.max_iterations,
        current_iteration=loop.iteration,
        stall_iterations=loop.limits.stall,
        token_budget=loop.limits.max_tokens,
        cost_budget=loop.limits.max_cost_usd,
        duration_budget_s=loop.limits.max_duration_s,
        state=loop.folder,
        tokens=loop.usage.tokens,
        cost=loop.usage.cost_usd,
        iterations=iterations,
        **same,
    )
