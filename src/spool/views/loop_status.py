"""Prints the status of one loop, for `--status` and `wt-loop status`."""

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from spool.app.loops import LoopReport
from spool.domain.criteria import Criterion
from spool.domain.loop import Capacity, Door, LoopSummary, Phase
from spool.domain.loop_file import LoopIteration
from spool.domain.receipt import Receipt
from spool.domain.state import IterationRecord
from spool.domain.text import counted, one_line
from spool.domain.verdict import Status
from spool.views import words
from spool.views.continuing import continue_hint
from spool.views.receipt import receipt_lines
from spool.views.say import say, say_json

_COLOURS = {Status.RUNNING: "cyan", Status.DONE: "green", Status.STUCK: "red", Status.STOPPED: "yellow"}
_SHORTEST_REASON = 12
_STATUS = "Status    "


class StatusJson(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `--status --json` and `wt-loop status --json`."""

    change: str
    status: Status | None
    """None if no loop has run yet."""
    reason: str
    runner_alive: bool
    phase: Phase | None
    capacity: Capacity | None
    receipt: Receipt | None
    state: LoopSummary | None
    recent: tuple[IterationRecord, ...]
    context: bool
    """Whether there are notes for the next iteration."""


def show_report(report: LoopReport, *, as_json: bool) -> None:
    """Print a loop's status and recent iterations."""
    if as_json:
        say_json(status_json(report))
        return
    loop = report.loop
    if loop is None:
        say(f"{report.change}: no loop has run yet")
    else:
        for line in _worktree_lines(loop) if loop.door is Door.WORKTREE else _lines(loop):
            is_status = line.startswith(_STATUS)
            say(line, colour=_COLOURS[loop.status] if is_status else None, word=str(loop.status))
    if report.notes:
        say("Notes     context is set for the next iteration")
    if report.recent and loop is not None and loop.door is not Door.WORKTREE:
        say("", *_table(report.recent))


def status_json(report: LoopReport) -> StatusJson:
    """Return a report in its JSON form."""
    loop = report.loop
    return StatusJson(
        change=report.change,
        status=loop.status if loop else None,
        reason=loop.reason if loop else "",
        runner_alive=loop is not None and loop.running,
        phase=loop.phase if loop else None,
        capacity=loop.capacity if loop else None,
        receipt=loop.receipt if loop else None,
        state=loop,
        recent=report.recent,
        context=report.notes,
    )


def capacity_words(capacity: Capacity) -> str:
    """Format usage and limits: `3 of 10 iterations, 12.3k tokens, $0.42 of $5.00`."""
    limit = capacity.max_iterations
    done = counted(capacity.iterations, "iteration")
    parts = [f"{capacity.iterations} of {limit} iterations" if limit else f"{done}, no limit"]
    if capacity.tokens is not None or capacity.max_tokens:
        budget = f" of {words.tokens(capacity.max_tokens)}" if capacity.max_tokens else ""
        parts.append(f"{words.tokens(capacity.tokens or 0)}{budget} tokens")
    if capacity.cost is not None or capacity.max_cost:
        budget = f" of ${capacity.max_cost:.2f}" if capacity.max_cost else ""
        parts.append(f"{'cost unknown' if capacity.cost is None else f'${capacity.cost:.2f}'}{budget}")
    if capacity.max_duration_s:
        parts.append(f"at most {words.duration(capacity.max_duration_s)}")
    return ", ".join(parts)


def worktree_table(iterations: Sequence[LoopIteration]) -> list[str]:
    """Return the table of a worktree loop's iterations, as lines."""
    rows = [("#", "ended", "time", "commits", "files", "done", "tokens", "cost", ""), *map(_worktree_row, iterations)]
    widths = [max(len(line[column]) for line in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in rows
    ]


def _lines(loop: LoopSummary) -> list[str]:
    limit, least = loop.limits.max_iterations, loop.limits.min_iterations
    bounds = f"at least {least}, " if least > 1 else ""
    bounds += f"at most {limit}" if limit is not None else "no upper limit"
    lines = [f"Change    {loop.change}", _status_line(loop)]
    if loop.story is not None:
        story = loop.story
        attempt = f", attempt {story.attempt}" if story.attempt > 1 else ""
        lines.append(f"Story     {one_line(f'{story.id} {story.title}')} ({story.current} of {story.total}{attempt})")
    lines += [f"Iteration {loop.iteration} ({loop.run_iteration} in this run; {bounds})", _agent_line(loop)]
    if loop.running:
        lines += [
            f"Now       {_now(loop)}",
            f"Runner    alive, pid {loop.runner.pid}, started {loop.started_at:%Y-%m-%d %H:%M:%S} UTC",
        ]
    else:
        lines.append(f"Runner    not running, last seen {loop.updated_at:%Y-%m-%d %H:%M:%S} UTC")
    return [*lines, *_receipt_lines(loop)]


def _receipt_lines(loop: LoopSummary) -> list[str]:
    return [f"Receipt   {line}" for line in receipt_lines(loop.receipt)]


def _worktree_lines(loop: LoopSummary) -> list[str]:
    of_run = f" ({loop.run_iteration} in this run)" if loop.run_iteration != loop.iteration else ""
    lines = [
        f"Change    {loop.change} in {one_line(loop.worktree, 400)}",
        f"Task      {one_line(loop.task, 100)}",
        _status_line(loop),
        f"Iteration {loop.iteration}{of_run}",
        f"Capacity  {capacity_words(loop.capacity)}",
        f"Done when {_criterion_words(loop)}",
        _agent_line(loop),
        f"Terminal  {one_line(loop.terminal)}, pid {loop.terminal_pid}; runner {loop.runner.pid}",
    ]
    if loop.running and loop.phase is not None:
        lines.append(f"Now       {_now(loop)}")
    return [*lines, *_receipt_lines(loop), f"Log       {one_line(loop.log or 'none', 400)}"]


def _status_line(loop: LoopSummary) -> str:
    hint = continue_hint(loop)
    return f"{_STATUS}{loop.status}{f': {one_line(loop.reason)}' if loop.reason else ''}{f'; {hint}' if hint else ''}"


def _agent_line(loop: LoopSummary) -> str:
    return f"Agent     {one_line(loop.harness)}{f', model {one_line(loop.model)}' if loop.model else ''}"


def _now(loop: LoopSummary) -> str:
    if loop.waiting_until is not None and loop.phase in (Phase.WAITING, Phase.PAUSING):
        return f"{loop.phase}, until {loop.waiting_until:%H:%M:%S} UTC"
    since = (datetime.now(UTC) - loop.phase_since).total_seconds() if loop.phase_since else 0.0
    return f"{loop.phase}, for {words.duration(max(0.0, since))}"


def _criterion_words(loop: LoopSummary) -> str:
    match Criterion(loop.criterion):
        case Criterion.TASKS:
            return "no box in its tasks.md is open"
        case Criterion.PROMISE:
            return "the agent promises completion"
        case Criterion.COMMAND:
            return f"this command succeeds: {one_line(loop.done_command, 100)}"
        case Criterion.MANUAL:
            return "you say so, with wt-loop done or wt-loop stop"


def _table(records: Sequence[IterationRecord]) -> list[str]:
    rows: list[tuple[str, ...]] = [
        ("#", "outcome", "time", "exit", "complete", "files", "tokens", "cost"),
        *map(_row, records),
    ]
    if any(record.story_id for record in records):
        stories = [f"{record.story_id or '-'}.{record.attempt or '-'}" for record in records]
        rows = [(*row, story) for row, story in zip(rows, ["story.try", *stories], strict=True)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    used = sum(widths) + 2 * len(widths)
    room = shutil.get_terminal_size((100, 24)).columns - used
    beside = room >= _SHORTEST_REASON
    reasons = ["reason" if beside else "", *(words.why(record) for record in records)]
    lines = []
    for row, reason in zip(rows, reasons, strict=True):
        line = "  ".join(
            cell.ljust(width) if column == 1 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        if beside:
            lines.append(f"{line}  {one_line(reason, room)}".rstrip() if reason else line)
        else:
            lines += [line, f"    {one_line(reason, max(20, used + room - 6))}"] if reason else [line]
    return lines


def _row(record: IterationRecord) -> tuple[str, ...]:
    usage = record.usage
    return (
        str(record.iteration),
        str(record.outcome),
        words.duration(record.duration_s),
        "-" if record.exit_code is None else str(record.exit_code),
        "yes" if record.completion_found else "no",
        "-" if record.changed_files is None else str(record.changed_files),
        "-" if usage.tokens is None else words.tokens(usage.tokens),
        "-" if usage.cost_usd is None else f"${usage.cost_usd:.2f}",
    )


def _worktree_row(one: LoopIteration) -> tuple[str, ...]:
    return (
        str(one.n),
        one.exit_reason,
        words.duration((one.ended - one.started).total_seconds()),
        str(len(one.commits)),
        "-" if one.changed_files is None else str(one.changed_files),
        "-" if one.done_check is None else "yes" if one.done_check else "no",
        "-" if one.tokens is None else words.tokens(one.tokens),
        "-" if one.cost is None else f"${one.cost:.2f}",
        one_line(one.done_reason, 100),
    )
