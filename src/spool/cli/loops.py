"""The loops on this machine as a person sees them: told, found by name, and put into a table."""

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from spool.cli.views import words
from spool.domain.change import matching as changes_matching
from spool.domain.state import LoopState, Phase
from spool.domain.text import one_line
from spool.domain.verdict import Status
from spool.errors import SpoolError, UsageError
from spool.host.state.registry import Entry, this_machine, told
from spool.host.state.store import StateFolder

_COLUMNS = ("ID", "DOOR", "PROJECT", "CHANGE", "STATUS", "ITERATION", "TIME")
_SHORTEST_REASON = 20
"""With less room than this beside a loop, a line of its own tells why it ended."""
_READABLE = 24
"""As much of a change's name as tells it from others."""
_ENDLESS = 1 << 20


class LoopRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `spool ps` and `wt-loop list`."""

    id: str
    run_id: str
    door: str
    project: str
    """The project's name; `worktree` says where it is."""
    change: str
    worktree: str
    status: Status
    reason: str
    iteration: int
    run_iteration: int | None
    """How many of this run's iterations have begun, while it runs."""
    max_iterations: int | None
    phase: Phase | None
    pid: int
    terminal: str
    started_at: datetime
    age_s: float
    """How long it has been running, or ran."""


def state_of(entry: Entry) -> LoopState | None:
    """Return the loop's state, if it is still that of this run and can be read."""
    with suppress(SpoolError, OSError):
        state = StateFolder(Path(entry.state)).load()
        return state if state is not None and state.run_id == entry.run_id else None
    return None


def wait_for_start(run_id: str, *, seconds: float, going: Callable[[], bool]) -> Entry | None:
    """Wait until a loop is under way, or has ended already; None if nothing came of it."""
    registry, deadline = this_machine(), time.monotonic() + seconds
    entry = registry.wait_for(run_id, seconds=seconds, going=going)
    while entry is not None and entry.running and state_of(entry) is None and time.monotonic() < deadline:
        time.sleep(0.02)
        entry = registry.find(run_id)
    return entry and told(entry)


def row(entry: Entry) -> LoopRow:
    """Tell a run; what changes while it runs comes from its state."""
    state = state_of(entry)
    # Asked after the state was read: a run that ended in between is told as it ended.
    entry = told(entry)
    running = entry.status is Status.RUNNING
    ended_at = entry.ended_at or (datetime.now(UTC) if running else _last_seen(entry, state))
    return LoopRow(
        id=entry.short_id,
        run_id=entry.run_id,
        door=entry.door,
        project=Path(entry.project).name,
        change=entry.change,
        worktree=entry.worktree,
        status=entry.status,
        reason=entry.reason,
        iteration=state.iteration if state else entry.iteration,
        run_iteration=state.run_iteration if state and running else None,
        max_iterations=state.limits.max_iterations if state else None,
        phase=state.phase if state and running else None,
        pid=entry.runner.pid,
        terminal=entry.terminal,
        started_at=entry.started_at,
        age_s=round(max(0.0, (ended_at - entry.started_at).total_seconds()), 3),
    )


def _last_seen(entry: Entry, state: LoopState | None) -> datetime:
    """Return when a run that was killed last told something; one without a state had not begun."""
    return entry.started_at if state is None else StateFolder(Path(entry.state)).active_at() or state.updated_at


def matching(name: str, entries: Iterable[Entry]) -> list[Entry]:
    """Return the runs that a person may mean: by run id, by its last part, by the change."""
    known = list(entries)
    for fits in (
        lambda entry: name in (entry.run_id, entry.short_id),
        lambda entry: name == entry.change,
        lambda entry: len(name) >= 3 and entry.short_id.startswith(name),
    ):
        if found := [entry for entry in known if fits(entry)]:
            return found
    meant = changes_matching(name, {entry.change for entry in known})
    return [entry for entry in known if entry.change in meant]


def pick(name: str, entries: Sequence[Entry]) -> Entry:
    """Return the one run that a person means; a running one comes before finished ones, and the latest of those."""
    found = matching(name, entries)
    running = [entry for entry in found if entry.running]
    if len(running) > 1:
        listed = ", ".join(f"{entry.short_id} ({entry.worktree})" for entry in running)
        raise UsageError(f"'{one_line(name, 60)}' could mean any of: {listed}", hint="give the id")
    if not found:
        raise UsageError(f"there is no loop '{one_line(name, 60)}'", hint="spool ps --all lists them")
    return running[0] if running else found[-1]


def table(rows: Sequence[LoopRow], width: int = _ENDLESS) -> list[str]:
    """Return the lines of a table of loops, each of which fits into the width."""
    columns = {name: [name, *cells] for name, *cells in zip(_COLUMNS, *map(_cells, rows), strict=True)}
    _fit(columns, width)
    padded = [[cell.ljust(_width(column)) for cell in column] for column in columns.values()]
    head, *lines = ["  ".join(line).rstrip() for line in zip(*padded, strict=True)]
    room = min(200, width - _used(columns) - 2)
    shown = [head]
    for line, reason in zip(lines, (row.reason for row in rows), strict=True):
        if room >= _SHORTEST_REASON:
            shown.append(f"{line}  {one_line(reason, room)}".rstrip())
        else:
            shown += [line, f"    {one_line(reason, width - 4)}"] if reason else [line]
    return shown


def _fit(columns: dict[str, list[str]], width: int) -> None:
    """Shorten the names of changes, as the id finds the loop too; before they are unreadable, leave out more."""
    change = columns["CHANGE"]
    spare = max(0, _width(change) - _READABLE)
    for name in ("DOOR", "PROJECT"):
        if _used(columns) - spare > width:
            del columns[name]
    room = max(_width(change) - max(0, _used(columns) - width), len("CHANGE"))
    columns["CHANGE"] = [one_line(cell, room) for cell in change]


def _used(columns: dict[str, list[str]]) -> int:
    return sum(map(_width, columns.values())) + 2 * (len(columns) - 1)


def _width(column: list[str]) -> int:
    return max(map(len, column))


def show_rows(rows: Sequence[LoopRow], *, as_json: bool, nothing: str) -> None:
    """Print loops, as a table or as JSON."""
    if as_json:
        click.echo(msgspec.json.encode(rows).decode())
        return
    # A pipe is read by a script, which may need all of it.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _ENDLESS
    for line in table(rows, width) if rows else [nothing]:
        click.echo(line)


def iteration_words(row: LoopRow) -> str:
    """Tell how far a loop has come: `3/10`, and over its whole life where that is more."""
    if row.run_iteration is None:
        return str(row.iteration)
    limit = "" if row.max_iterations is None else f"/{row.max_iterations}"
    total = f" ({row.iteration})" if row.iteration != row.run_iteration else ""
    return f"{row.run_iteration}{limit}{total}"


def _cells(row: LoopRow) -> tuple[str, ...]:
    return (
        row.id,
        row.door,
        one_line(row.project, 40),
        one_line(row.change, 60),
        str(row.status),
        iteration_words(row),
        words.duration(row.age_s),
    )
