"""When a loop of `wt-loop` is done, and what counts as progress. Pure, with a table test."""

from enum import StrEnum

import msgspec

from spool.domain.gate import GateResult
from spool.domain.outcome import Outcome, OutcomeKind
from spool.domain.tasks import parse_tasks

DEFAULT_MAX = 10


class Criterion(StrEnum):
    """What makes a loop done."""

    TASKS = "tasks"
    MANUAL = "manual"
    PROMISE = "promise"
    COMMAND = "command"


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


def check_tasks(tasks: str | None) -> GateResult:
    """Done when no box is open; a missing list, or one without a ticked box, is not done."""
    if tasks is None:
        return GateResult(name="tasks", passed=False, why="there is no tasks.md")
    found = parse_tasks(tasks)
    if not found.tasks:
        return GateResult(name="tasks", passed=False, why="tasks.md has no box")
    persons = sum(task.mark == "?" for task in found.tasks)
    shelved = len(found.tasks) - found.done_count - len(found.open) - persons
    others = ((persons, "left to a person"), (shelved, "shelved"))
    aside = ", ".join(f"{count} {what}" for count, what in others if count)
    ticked = f"{found.done_count} of {len(found.tasks)} boxes are ticked"
    return GateResult(name="tasks", passed=found.complete, why=f"{ticked} ({aside})" if aside else ticked)


def check_promise(outcome: Outcome) -> GateResult:
    """Done when the agent kept its promise."""
    kept = outcome.kind is OutcomeKind.COMPLETED
    return GateResult(
        name="promise",
        passed=kept,
        why="the agent kept its promise" if kept else "the agent made no promise that counts",
    )


def check_command(command: str, exit_code: int | None) -> GateResult:
    """Done when the user's own command succeeds; None means that it did not end in time."""
    if exit_code is None:
        return GateResult(name="command", passed=False, why=f"'{command}' did not end in time")
    return GateResult(name="command", passed=exit_code == 0, why=f"'{command}' ended with code {exit_code}")


def is_progress(seen: Seen) -> bool:
    """Whether an iteration got anywhere. Output is no progress; what git cannot tell is given the benefit of doubt."""
    return seen.head_moved or seen.changed_files is None or seen.changed_files > 0 or seen.ticked != 0


def exit_reason(outcome: Outcome) -> str:
    """Tell why an iteration ended: an agent that ended by itself has finished, whatever it promised."""
    if outcome.kind in (OutcomeKind.COMPLETED, OutcomeKind.NO_PROMISE):
        return "finished"
    return str(outcome.kind)
