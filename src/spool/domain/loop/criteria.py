"""Decides when a worktree loop is done and what counts as progress. Pure, with a table test."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from spool.domain.change.story import StoryTask, parse_stories
from spool.domain.change.tasks import parse_tasks
from spool.domain.judging.gates.boxes import BoxLedger, honest
from spool.domain.judging.gates.gate import GateResult, Proof
from spool.domain.loop.outcome import Outcome, OutcomeKind

DEFAULT_MAX = 10
DEFAULT_STALL = 3
RALPH_STALL = 5
_REMEMBERED = 100
"""Trees in which a change back is noticed; each is 16 characters of the saved state."""
NO_LEDGER = BoxLedger()


class Criterion(StrEnum):
    """The condition that makes a loop done."""

    TASKS = "tasks"
    MANUAL = "manual"
    PROMISE = "promise"
    COMMAND = "command"


class ProgressTraces(msgspec.Struct, frozen=True, kw_only=True):
    """The traces of an iteration that count as progress."""

    head_moved: bool = False
    changed_files: int | None = 0
    """Changed files, except Spool's own; None if git failed."""
    ticked: int = 0
    """The change in the number of ticked boxes; negative if boxes were cleared."""
    came_back: bool = False
    """Whether the tree changed into one that this loop had before."""


def default_criterion(tasks: str | None) -> Criterion:
    """Return the default criterion: the task list if there is one, else manual."""
    return Criterion.MANUAL if tasks is None else Criterion.TASKS


def bounds_for(
    criterion: Criterion,
    *,
    max_iterations: int | None,
    configured: int | None,
    stall: int | None,
    stall_default: int | None,
) -> tuple[int | None, int]:
    """Return the iteration and stall limits; a manual loop has neither unless requested at its start."""
    if criterion is Criterion.MANUAL:
        return max_iterations, stall or 0
    limit = max_iterations if max_iterations is not None else (DEFAULT_MAX if configured is None else configured)
    return limit or None, next((chosen for chosen in (stall, stall_default) if chosen is not None), DEFAULT_STALL)


def check_boxes(still_open: Sequence[StoryTask]) -> GateResult:
    """Pass when no box is open; a task without a box is the promise's to report. An agent ticks boxes: its word."""
    still_open = [task for task in still_open if not task.boxless]
    ids = ", ".join(task.id for task in still_open)
    if not ids:
        return GateResult(name="tasks", passed=True, why="all boxes are ticked", proof=Proof.WORD)
    tell = f"You said that the work is done, but these tasks are open: {ids}"
    if any(not task.line for task in still_open):
        tell += ". Only a person may reword, remove or set aside a task"
    return GateResult(name="tasks", passed=False, why=f"boxes are open: {ids}", tell_agent=tell)


def check_tasks(tasks: str | None, ledger: BoxLedger = NO_LEDGER) -> GateResult:
    """Pass when no box is open; a missing list, or one without a ticked box, does not pass."""
    if owed := [task for task in _owed(tasks, ledger) if not task.boxless]:
        return check_boxes(owed)
    if tasks is None:
        return GateResult(name="tasks", passed=False, why="no tasks.md")
    found = parse_tasks(tasks)
    if not found.tasks:
        return GateResult(name="tasks", passed=False, why="tasks.md has no boxes")
    if all(task.boxless or not task.open for task in found.tasks) and any(task.boxless for task in found.tasks):
        return GateResult(name="tasks", passed=True, why="no box is open", proof=Proof.WORD)
    persons = sum(task.mark == "?" for task in found.tasks)
    shelved = len(found.tasks) - found.done_count - len(found.open) - persons
    others = ((persons, "left to a person"), (shelved, "shelved"))
    aside = ", ".join(f"{count} {what}" for count, what in others if count)
    ticked = f"{found.done_count} of {len(found.tasks)} boxes are ticked"
    why = f"{ticked} ({aside})" if aside else ticked
    return GateResult(name="tasks", passed=found.complete, why=why, proof=Proof.WORD if found.complete else None)


def _owed(tasks: str | None, ledger: BoxLedger) -> list[StoryTask]:
    """Return the boxes that an agent closed without ticking them."""
    stories = parse_stories(tasks or "")
    there = {(task.id, task.line, task.mark) for story in stories.stories for task in story.tasks}
    found = (task for story in honest(ledger, stories).stories for task in story.open)
    return [task for task in found if (task.id, task.line, task.mark) not in there]


def check_promise(outcome: Outcome) -> GateResult:
    """Pass when the agent kept its promise."""
    kept = outcome.kind is OutcomeKind.COMPLETED
    return GateResult(
        name="promise",
        passed=kept,
        why="the agent kept its promise" if kept else "the agent made no valid promise",
    )


def check_command(command: str, exit_code: int | None) -> GateResult:
    """Pass when the user's command succeeds; an exit code of None means that it timed out."""
    if exit_code is None:
        return GateResult(name="command", passed=False, why=f"'{command}' timed out")
    return GateResult(name="command", passed=exit_code == 0, why=f"'{command}' exited with code {exit_code}")


def is_progress(seen: ProgressTraces) -> bool:
    """Whether an iteration made progress. Output does not count; an unknown number of changed files does.

    Changing the same lines back and forth is none, even if each change is committed.
    """
    if seen.came_back:
        return False
    return seen.head_moved or seen.changed_files is None or seen.changed_files > 0 or seen.ticked != 0


def remembered(seen: tuple[str, ...], trees: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids of recent trees with those of one more iteration, without repetitions."""
    return tuple(dict.fromkeys((*seen, *trees)))[-_REMEMBERED:]


def exit_reason(outcome: Outcome) -> str:
    """Return why an iteration ended: `finished` if the agent exited on its own, else the outcome."""
    if outcome.kind in (OutcomeKind.COMPLETED, OutcomeKind.NO_PROMISE):
        return "finished"
    return str(outcome.kind)
