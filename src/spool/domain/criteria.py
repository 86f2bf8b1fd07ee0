"""When a loop in a worktree is done, when it is stuck, and what it tells of an iteration. Pure, with a table test."""

from collections.abc import Callable
from enum import StrEnum

import msgspec

from spool.domain.outcome import Outcome, OutcomeKind
from spool.domain.stream import Usage
from spool.domain.tasks import parse_tasks
from spool.domain.text import counted
from spool.domain.verdict import Continue, ExitCode, Finish, Limits, Status, Tally, Verdict, judge_ralph

DEFAULT_MAX = 10


class Criterion(StrEnum):
    """What makes a loop done."""

    TASKS = "tasks"
    MANUAL = "manual"
    PROMISE = "promise"
    COMMAND = "command"


class DoneCheck(msgspec.Struct, frozen=True):
    """Whether the loop is done, and how that was found."""

    done: bool
    why: str


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """When a loop in a worktree gives up. 0 and None lift a bound."""

    limits: Limits
    stall: int = 0
    """Iterations without progress in a row."""
    tokens: int = 0
    cost_usd: float = 0.0


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What an iteration left behind, as far as progress is concerned."""

    head_moved: bool = False
    changed_files: int | None = 0
    """Files of the project, Spool's own aside; None where git could not tell."""
    ticked: int = 0
    """Boxes that were ticked before, and are now; negative if boxes were cleared."""


def default_criterion(tasks: str | None) -> Criterion:
    """Return what holds where nothing is said: the task list, where there is one."""
    return Criterion.MANUAL if tasks is None else Criterion.TASKS


def bounds_for(
    criterion: Criterion, *, max_iterations: int | None, configured: int | None, stall: int | None, stall_default: int
) -> tuple[int | None, int]:
    """Return the limit and the stall bound; a manual loop has neither unless its start asked for it."""
    if criterion is Criterion.MANUAL:
        return max_iterations, stall or 0
    limit = max_iterations if max_iterations is not None else (DEFAULT_MAX if configured is None else configured)
    return limit or None, stall_default if stall is None else stall


def check_tasks(tasks: str | None) -> DoneCheck:
    """Done when no box is open; a missing list, or one without a ticked box, is not done."""
    if tasks is None:
        return DoneCheck(done=False, why="there is no tasks.md")
    found = parse_tasks(tasks)
    if not found.tasks:
        return DoneCheck(done=False, why="tasks.md has no box")
    persons = sum(task.mark == "?" for task in found.tasks)
    shelved = len(found.tasks) - found.done_count - len(found.open) - persons
    others = ((persons, "left to a person"), (shelved, "shelved"))
    aside = ", ".join(f"{count} {what}" for count, what in others if count)
    ticked = f"{found.done_count} of {len(found.tasks)} boxes are ticked"
    return DoneCheck(done=found.complete, why=f"{ticked} ({aside})" if aside else ticked)


def check_promise(outcome: Outcome) -> DoneCheck:
    """Done when the agent kept its promise."""
    kept = outcome.kind is OutcomeKind.COMPLETED
    return DoneCheck(done=kept, why="the agent kept its promise" if kept else "the agent made no promise that counts")


def check_command(command: str, exit_code: int | None) -> DoneCheck:
    """Done when the user's own command succeeds; None means that it did not end in time."""
    if exit_code is None:
        return DoneCheck(done=False, why=f"'{command}' did not end in time")
    return DoneCheck(done=exit_code == 0, why=f"'{command}' ended with code {exit_code}")


def is_progress(seen: Seen) -> bool:
    """Whether an iteration got anywhere. Output is no progress; what git cannot tell is given the benefit of doubt."""
    return seen.head_moved or seen.changed_files is None or seen.changed_files > 0 or seen.ticked != 0


def exit_reason(outcome: Outcome) -> str:
    """Tell why an iteration ended: an agent that ended by itself has finished, whatever it promised."""
    if outcome.kind in (OutcomeKind.COMPLETED, OutcomeKind.NO_PROMISE):
        return "finished"
    return str(outcome.kind)


def over_budget(bounds: Bounds, used: Usage) -> str:
    """Return which budget is used up, or nothing."""
    if bounds.tokens and (used.tokens or 0) >= bounds.tokens:
        return f"the budget of {bounds.tokens} tokens is used up"
    if bounds.cost_usd and (used.cost_usd or 0.0) >= bounds.cost_usd:
        return f"the budget of ${bounds.cost_usd:.2f} is used up"
    return ""


def judge_worktree(
    outcome: Outcome,
    tally: Tally,
    bounds: Bounds,
    check: DoneCheck,
    *,
    idle: int,
    used: Usage,
    now: float,
    jitter: Callable[[], float],
) -> Verdict:
    """Decide what follows an iteration of `wt-loop`; `idle` counts the last iterations without progress."""
    if check.done and outcome.kind not in (OutcomeKind.INTERRUPTED, OutcomeKind.RATE_LIMITED):
        return Finish(Status.DONE, check.why, ExitCode.COMPLETE)
    # The criterion decides what done is; a promise that is not asked for ends nothing.
    if outcome.kind is OutcomeKind.COMPLETED:
        outcome = msgspec.structs.replace(outcome, kind=OutcomeKind.NO_PROMISE)
    verdict = judge_ralph(outcome, tally, bounds.limits, now=now, jitter=jitter)
    if not isinstance(verdict, Continue):
        return verdict
    if spent := over_budget(bounds, used):
        return Finish(Status.STUCK, spent, ExitCode.STUCK)
    if bounds.stall and idle >= bounds.stall:
        return Finish(Status.STUCK, f"no progress in {counted(idle, 'iteration')} in a row", ExitCode.STUCK)
    return verdict
