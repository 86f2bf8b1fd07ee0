"""Prints the status of one loop, for `--status` and `wt-loop status`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from spool.app.loops.loop_list import LoopReport
from spool.domain.account.story_history import outcome_of
from spool.domain.judging.gates.gate import Proof
from spool.domain.loop.receipt import Receipt
from spool.domain.loop.state import IterationRecord
from spool.domain.loop.summary import Capacity, LoopKind, LoopSummary, Phase
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import counted, one_line
from spool.views import words
from spool.views.continuing import continue_hint
from spool.views.look import loop_sign
from spool.views.receipt_lines import receipt_lines
from spool.views.say import say, say_json
from spool.views.tables import room, table

if TYPE_CHECKING:
    from spool.domain.loop.loop_file import LoopIteration

_DROPPED = ("cost", "tokens", "files", "commits", "at", "exit")
"""The columns of iterations to leave out on a narrow terminal, the first one first."""
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
        for line in _worktree_lines(loop) if loop.door is LoopKind.WORKTREE else _lines(loop):
            is_status = line.startswith(_STATUS)
            say(line, colour=loop_sign(loop).role.colour if is_status else None, word=_status(loop))
    if report.notes:
        say("Notes     context is set; every later prompt includes it until --clear-context")
    if report.recent and loop is not None and loop.door is not LoopKind.WORKTREE:
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


def worktree_table(iterations: Sequence["LoopIteration"]) -> list[str]:
    """Return the table of a worktree loop's iterations, as lines."""
    head = ("#", "ended", "at", "duration", "commits", "files", "done", "tokens", "cost")
    rows = [_worktree_row(one) for one in iterations]
    notes = [one.done_reason for one in iterations]
    return table(head, rows, width=room(), left=head, drop=_DROPPED, notes=notes)


def _lines(loop: LoopSummary) -> list[str]:
    limit, least = loop.limits.max_iterations, loop.limits.min_iterations
    bounds = f"at least {least}, " if least > 1 else ""
    bounds += f"at most {limit}" if limit is not None else "no upper limit"
    lines = [f"Change    {loop.change}", _status_line(loop), *_workspace_lines(loop)]
    if loop.story is not None:
        story = loop.story
        attempt = f", attempt {story.attempt}" if story.attempt > 1 else ""
        lines.append(f"Story     {one_line(f'{story.id} {story.title}')} ({story.current} of {story.total}{attempt})")
    lines += [f"Iteration {loop.iteration} ({loop.run_iteration} in this run; {bounds})", _agent_line(loop)]
    if loop.running:
        lines += [
            f"Now       {_now(loop)}",
            f"Runner    alive, pid {loop.runner.pid}, started {words.moment(loop.started_at)}",
        ]
    else:
        lines.append(f"Runner    not running, last seen {words.moment(loop.updated_at)}")
    lines += _proof_lines(loop)
    if loop.memory.failed_commits:
        lines.append(f"Commits   {loop.memory.failed_commits} failed")
    return [*lines, _elapsed_line(loop), *_receipt_lines(loop)]


def _workspace_lines(loop: LoopSummary) -> list[str]:
    where = loop.workspace
    return [f"Works in  {where.kind} {one_line(where.path, 400)}, branch {where.branch}"] if where else []


def _proof_lines(loop: LoopSummary) -> list[str]:
    """Return what the end of a finished loop rests on; of another that ended, how to go back."""
    if loop.status in (Status.STUCK, Status.STOPPED) and loop.memory.begun:
        return [f"Undo      spool undo {loop.id}, to return to where it began"]
    if loop.status is not Status.DONE:
        return []
    return [f"Checked   {words.rests_on(loop.memory.proof or Proof.WORD, loop.memory.evidence)}"]


def _elapsed_line(loop: LoopSummary) -> str:
    """Return the time of the runs by the clock; the receipt has that of agent, gates and waits."""
    now = datetime.now(UTC)
    of_run = f" ({words.duration(loop.age_s(now))} in this run)" if loop.earlier_s else ""
    return f"Elapsed   {words.duration(loop.elapsed_s(now))}{of_run}"


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
    lines += [*_proof_lines(loop), _elapsed_line(loop), *_receipt_lines(loop)]
    return [*lines, f"Log       {one_line(loop.log or 'none', 400)}"]


def _status_line(loop: LoopSummary) -> str:
    hint = continue_hint(loop)
    return f"{_STATUS}{_status(loop)}{f': {one_line(loop.reason)}' if loop.reason else ''}{f'; {hint}' if hint else ''}"


def _status(loop: LoopSummary) -> str:
    """Return the status in words; of a worktree loop, as its specification names it."""
    return str(loop.status) if loop.door is LoopKind.WORKTREE else loop.word


def _agent_line(loop: LoopSummary) -> str:
    model = f", model {one_line(loop.model)}" if loop.model else ""
    return f"Agent     {one_line(loop.harness)}{model}, {one_line(loop.sandbox)}"


def _now(loop: LoopSummary) -> str:
    if loop.waiting_until is not None and loop.phase in (Phase.WAITING, Phase.PAUSING):
        return f"{loop.phase}, until {words.clock(loop.waiting_until)}"
    since = (datetime.now(UTC) - loop.phase_since).total_seconds() if loop.phase_since else 0.0
    if loop.checking:
        return f"{loop.phase}: {one_line(loop.checking, 60)}, {words.duration(max(0.0, since))}"
    return f"{loop.phase}, for {words.duration(max(0.0, since))}"


def _criterion_words(loop: LoopSummary) -> str:
    from spool.domain.loop.criteria import Criterion  # only for a worktree loop

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
    head: tuple[str, ...] = ("#", "outcome", "duration", "exit", "complete", "files", "tokens", "cost", "at")
    rows: list[tuple[str, ...]] = [_row(record) for record in records]
    if any(record.story_id for record in records):
        stories = [f"{record.story_id or '-'}.{record.attempt or '-'}" for record in records]
        head, rows = (*head, "story.try"), [(*row, story) for row, story in zip(rows, stories, strict=True)]
    notes = [words.why(record) for record in records]
    return table(head, rows, width=room(), left=("outcome",), drop=_DROPPED, notes=notes, noted="reason")


def _claimed(record: IterationRecord) -> str:
    """Return what became of a claim of completion: what the gates said, or that it was made."""
    if record.proof not in (None, Proof.WORD):
        return str(record.proof)
    return "yes" if record.completion_found else "no"


def _row(record: IterationRecord) -> tuple[str, ...]:
    usage = record.usage
    return (
        str(record.iteration),
        outcome_of(record),
        words.duration(record.duration_s),
        "-" if record.exit_code is None else str(record.exit_code),
        _claimed(record),
        "-" if record.changed_files is None else str(record.changed_files),
        "-" if usage.tokens is None else words.tokens(usage.tokens),
        "-" if usage.cost_usd is None else f"${usage.cost_usd:.2f}",
        words.clock(record.started_at),
    )


def _worktree_row(one: "LoopIteration") -> tuple[str, ...]:
    return (
        str(one.n),
        one.exit_reason,
        words.clock(one.started),
        words.duration((one.ended - one.started).total_seconds()),
        str(len(one.commits)),
        "-" if one.changed_files is None else str(one.changed_files),
        "-" if one.done_check is None else "yes" if one.done_check else "no",
        "-" if one.tokens is None else words.tokens(one.tokens),
        "-" if one.cost is None else f"${one.cost:.2f}",
    )
