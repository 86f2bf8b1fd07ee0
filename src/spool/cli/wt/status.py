"""`wt-loop status` and `wt-loop history`: they read small files, and load next to nothing."""

import sys
import time
from contextlib import suppress
from datetime import UTC, datetime

import click
import msgspec

from spool.cli.loops import row, show_rows
from spool.cli.status import coloured
from spool.cli.views import words
from spool.cli.wt.located import Located, here, locate
from spool.domain.criteria import Criterion
from spool.domain.loop_file import LoopFile, LoopIteration
from spool.domain.state import LoopState, Phase
from spool.domain.text import counted, one_line
from spool.domain.verdict import Status
from spool.errors import SpoolError
from spool.host.state.loop_book import LOG
from spool.host.state.registry import this_machine
from spool.host.state.store import StateFolder

RECENT = 10
_COLOURS = {Status.RUNNING: "cyan", Status.DONE: "green", Status.STUCK: "red", Status.STOPPED: "yellow"}


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """What this run has used, and of how much."""

    iterations: int
    max_iterations: int | None
    tokens: int | None
    max_tokens: int | None
    cost: float | None
    max_cost: float | None


class WorktreeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What `wt-loop status --json` prints."""

    status: Status
    capacity: Capacity
    phase: Phase | None
    """What the loop does now, while it runs."""
    phase_since: datetime | None
    waiting_until: datetime | None
    log: str
    loop: LoopFile


@click.command("status")
@click.argument("name", metavar="[CHANGE]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--watch", "-w", is_flag=True, help="Show it anew each second, until the loop ends.")
@click.option("--path", metavar="DIR", help="The worktree, where the change's id does not give it.")
@click.help_option("-h", "--help")
def status(name: str | None, as_json: bool, watch: bool, path: str | None) -> None:
    """Show where a loop stands: its status, its iterations, what it has used, and what it does now.

    Without a change: the loop of the current worktree, or all loops.
    """
    while True:
        if name is None and path is None and here() is None:
            running = this_machine().running()
            _clear(watch=watch and not as_json)
            show_rows([row(entry) for entry in running], as_json=as_json, nothing="No loop is running.")
            if not watch or not running:
                return
            time.sleep(1)
            continue
        told = report(locate(name, path))
        _clear(watch=watch and not as_json)
        show(told, as_json=as_json)
        if not watch or told.status is not Status.RUNNING:
            return
        time.sleep(1)


def _clear(*, watch: bool) -> None:
    if watch and sys.stdout.isatty():
        click.clear()


@click.command("history")
@click.argument("name", metavar="[CHANGE]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--path", metavar="DIR", help="The worktree, where the change's id does not give it.")
@click.help_option("-h", "--help")
def history(name: str | None, as_json: bool, path: str | None) -> None:
    """Show every iteration of a loop: when it ran, why it ended, and what it committed."""
    iterations = locate(name, path).file.iterations
    if as_json:
        click.echo(msgspec.json.encode(iterations).decode())
        return
    for line in table(iterations) if iterations else ["no iteration has ended yet"]:
        click.echo(line)
    for one in iterations:
        for commit in one.commits:
            click.echo(f"{one.n}: {commit}")


def report(found: Located) -> WorktreeStatus:
    """Gather what there is to tell of a loop."""
    file, state = found.file, _state(found)
    running = file.status is Status.RUNNING
    return WorktreeStatus(
        status=file.status,
        capacity=Capacity(
            iterations=file.run_iteration,
            max_iterations=file.max_iterations,
            tokens=file.tokens,
            max_tokens=file.token_budget or None,
            cost=file.cost,
            max_cost=file.cost_budget or None,
        ),
        phase=state.phase if state and running else None,
        phase_since=state.phase_since if state and running else None,
        waiting_until=state.waiting_until if state and running else None,
        log=str(found.root / LOG),
        loop=file,
    )


def show(told: WorktreeStatus, *, as_json: bool) -> None:
    """Print where a loop stands."""
    if as_json:
        click.echo(msgspec.json.encode(told).decode())
        return
    loop = told.loop
    status = click.style(told.status, fg=_COLOURS[told.status], bold=True) if coloured() else str(told.status)
    click.echo(f"Change    {loop.change_id} in {loop.worktree}")
    click.echo(f"Task      {one_line(loop.task, 100)}")
    click.echo(f"Status    {status}{f': {one_line(loop.reason)}' if loop.reason else ''}")
    click.echo(f"Iteration {loop.current_iteration}{_of_run(loop)}")
    click.echo(f"Capacity  {capacity_words(told.capacity)}")
    click.echo(f"Done when {_criterion_words(loop)}")
    click.echo(f"Agent     {one_line(loop.harness)}{f', model {one_line(loop.model)}' if loop.model else ''}")
    click.echo(f"Terminal  {loop.terminal}, pid {loop.terminal_pid}; runner {loop.runner.pid}")
    if told.phase is not None:
        click.echo(f"Now       {_now(told)}")
    click.echo(f"Log       {told.log}")
    if loop.iterations:
        click.echo()
        for line in table(loop.iterations[-RECENT:]):
            click.echo(line)


def capacity_words(capacity: Capacity) -> str:
    """Tell what was used of what: `3 of 10 iterations, 12.3k tokens, $0.42 of $5.00`."""
    limit = capacity.max_iterations
    done = counted(capacity.iterations, "iteration")
    said = [f"{capacity.iterations} of {limit} iterations" if limit else f"{done}, no limit"]
    if capacity.tokens is not None or capacity.max_tokens:
        budget = f" of {words.tokens(capacity.max_tokens)}" if capacity.max_tokens else ""
        said.append(f"{words.tokens(capacity.tokens or 0)}{budget} tokens")
    if capacity.cost is not None or capacity.max_cost:
        budget = f" of ${capacity.max_cost:.2f}" if capacity.max_cost else ""
        said.append(f"${capacity.cost or 0:.2f}{budget}")
    return ", ".join(said)


def table(iterations: tuple[LoopIteration, ...]) -> list[str]:
    """Return the lines of a table of iterations."""
    rows = [("#", "ended", "time", "commits", "files", "done", "tokens", "cost", ""), *map(_row, iterations)]
    widths = [max(len(line[column]) for line in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in rows
    ]


def _row(one: LoopIteration) -> tuple[str, ...]:
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


def _state(found: Located) -> LoopState | None:
    with suppress(SpoolError, OSError):
        state = StateFolder(found.state).load()
        return state if state is not None and state.run_id == found.file.run_id else None
    return None


def _of_run(loop: LoopFile) -> str:
    return f" ({loop.run_iteration} in this run)" if loop.run_iteration != loop.current_iteration else ""


def _criterion_words(loop: LoopFile) -> str:
    match loop.done_criteria:
        case Criterion.TASKS:
            return "no box of its tasks.md is open"
        case Criterion.PROMISE:
            return "the agent promises it"
        case Criterion.COMMAND:
            return f"this succeeds: {one_line(loop.done_command or '', 100)}"
        case Criterion.MANUAL:
            return "a person says so: wt-loop done, or wt-loop stop"


def _now(told: WorktreeStatus) -> str:
    if told.waiting_until is not None:
        return f"{told.phase}, until {told.waiting_until:%H:%M:%S} UTC"
    since = (datetime.now(UTC) - told.phase_since).total_seconds() if told.phase_since else 0.0
    return f"{told.phase}, for {words.duration(max(0.0, since))}"
