"""`spool ralph --status` and its neighbours: they read or write a small file, and load next to nothing."""

import os
import shutil
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from spool.cli.views import words
from spool.domain.state import IterationRecord, LoopState, Phase
from spool.domain.text import one_line
from spool.domain.verdict import Status
from spool.errors import UsageError
from spool.host.runner.identity import is_alive
from spool.host.state.store import StateFolder
from spool.sources.project import Project

RECENT = 10
_LARGEST_CONTEXT = 1 << 20


class StatusReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `--status --json` prints."""

    change: str
    runner_alive: bool
    status: Status | None
    """The loop's status; a loop whose runner died is stopped, whatever its state says."""
    reason: str
    state: LoopState | None
    recent: tuple[IterationRecord, ...]
    context: bool
    """Whether notes for the next iteration are waiting."""


def folder_of(project: Project, door: str, change_id: str) -> StateFolder:
    """Return the state folder of a loop, for reading and for context."""
    return StateFolder(project.state / door / change_id)


def report(folder: StateFolder, change_id: str) -> StatusReport:
    """Gather what there is to tell of a loop."""
    state = folder.load()
    alive = state is not None and state.status is Status.RUNNING and is_alive(state.runner)
    status, reason = (state.status, state.reason) if state else (None, "")
    if status is Status.RUNNING and not alive:
        status, reason = Status.STOPPED, "its runner died; the same command goes on from here"
    return StatusReport(
        change=change_id,
        runner_alive=alive,
        status=status,
        reason=reason,
        state=state,
        recent=tuple(folder.history(last=RECENT)),
        context=bool(folder.context().strip()),
    )


def look_or_steer(door: str, given: Mapping[str, Any], project: Project, change_id: str) -> int:
    """Do what `--status`, `--add-context` or `--clear-context` asks for."""
    folder = folder_of(project, door, change_id)
    if given["status"]:
        show(folder, change_id, as_json=given["as_json"])
    elif given["clear_context"]:
        folder.clear_context()
        click.echo(f"Cleared the context of {change_id}.")
    else:
        _add_context(folder, change_id, given["add_context"])
    return 0


def show(folder: StateFolder, change_id: str, *, as_json: bool) -> None:
    """Print where a loop stands."""
    told = report(folder, change_id)
    if as_json:
        click.echo(msgspec.json.encode(told).decode())
        return
    if told.state is None:
        click.echo(f"{change_id}: no loop has run yet")
    else:
        _show_state(told, told.state)
    if told.context:
        click.echo("Notes     context for the next iteration is waiting")
    if told.recent:
        click.echo()
        _show_table(told.recent)


def _show_state(told: StatusReport, state: LoopState) -> None:
    colour = {Status.RUNNING: "cyan", Status.DONE: "green", Status.STUCK: "red", Status.STOPPED: "yellow"}
    assert told.status is not None  # noqa: S101 - there is a state, so there is a status
    status = click.style(told.status, fg=colour[told.status], bold=True) if coloured() else str(told.status)
    reason = f": {one_line(told.reason)}" if told.reason else ""
    limit = state.limits.max_iterations
    bounds = f"at least {state.limits.min_iterations}, " if state.limits.min_iterations > 1 else ""
    bounds += f"at most {limit}" if limit is not None else "no upper limit"
    click.echo(f"Change    {told.change}")
    click.echo(f"Status    {status}{reason}")
    if state.story is not None:
        story = state.story
        attempt = f", attempt {story.attempt}" if story.attempt > 1 else ""
        click.echo(f"Story     {one_line(f'{story.id} {story.title}')} ({story.current} of {story.total}{attempt})")
    click.echo(f"Iteration {state.iteration} ({state.run_iteration} in this run; {bounds})")
    click.echo(f"Agent     {one_line(state.harness)}{f', model {one_line(state.model)}' if state.model else ''}")
    if told.runner_alive:
        click.echo(f"Now       {_now(state)}")
        click.echo(f"Runner    alive, pid {state.runner.pid}, started {state.started_at:%Y-%m-%d %H:%M:%S} UTC")
    else:
        click.echo(f"Runner    not running, last seen {state.updated_at:%Y-%m-%d %H:%M:%S} UTC")
    if used := words.spent(state.usage):
        click.echo(f"Used      {', '.join(used)}")


def _now(state: LoopState) -> str:
    elapsed = (datetime.now(UTC) - state.phase_since).total_seconds()
    if state.waiting_until is not None and state.phase in (Phase.WAITING, Phase.PAUSING):
        return f"{state.phase}, until {state.waiting_until:%H:%M:%S} UTC"
    return f"{state.phase}, for {words.duration(max(0.0, elapsed))}"


def _show_table(records: tuple[IterationRecord, ...]) -> None:
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
    reasons = ["reason" if room >= 12 else "", *(words.why(record) for record in records)]
    for row, reason in zip(rows, reasons, strict=True):
        line = "  ".join(
            cell.ljust(width) if column == 1 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        if room >= 12:
            click.echo(f"{line}  {one_line(reason, room)}".rstrip() if reason else line.rstrip())
            continue
        click.echo(line.rstrip())
        if reason:
            click.echo(f"    {one_line(reason, max(20, used + room - 6))}")


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


def _add_context(folder: StateFolder, change_id: str, text: str) -> None:
    if not text.strip():
        raise UsageError("there is nothing to add", hint='say it: --add-context "The port is 8080"')
    if len(text) > _LARGEST_CONTEXT:
        raise UsageError("that is more than 1 MiB of context")
    folder.add_context(text)
    click.echo(f"Added to the context of {change_id}; the next iteration will read it.")


def coloured() -> bool:
    """Whether colour is wanted on standard output."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
