"""Prints the table of `spool ps` and `wt-loop list`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from spool.domain.judging.gates.gate import VERIFIED
from spool.domain.loop.summary import LoopSummary
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import one_line
from spool.views import words
from spool.views.say import say, say_json
from spool.views.tables import ENDLESS, room

_COLUMNS = ("ID", "COMMAND", "PROJECT", "CHANGE", "STATUS", "ITERATION", "ELAPSED")
_SHORTEST_REASON = 20
"""With fewer columns left beside a loop, its reason gets a separate line."""
_READABLE = 24
"""Columns of a change's name that are kept, so that changes can be distinguished."""


def show_loops(loops: Sequence[LoopSummary], *, as_json: bool) -> None:
    """Print loops as a table or as JSON."""
    now = datetime.now(UTC)
    if as_json:
        say_json([loop_json(loop, now) for loop in loops])
        return
    # A script that reads a pipe needs every column in full.
    width = room()
    say(*(table(loops, now, width) if loops else ["No loop is running."]))


def loop_json(loop: LoopSummary, now: datetime) -> dict[str, Any]:
    """Return a summary as JSON values: all fields and the figures derived from them."""
    return {
        **msgspec.to_builtins(loop),
        "id": loop.id,
        "fleet_id": loop.fleet_id,
        "project": loop.name,
        "repository": loop.project,
        "pid": loop.runner.pid,
        "max_iterations": loop.limits.max_iterations,
        "capacity": msgspec.to_builtins(loop.capacity),
        "age_s": loop.age_s(now),
        "elapsed_s": loop.elapsed_s(now),
    }


def table(loops: Sequence[LoopSummary], now: datetime, width: int = ENDLESS) -> list[str]:
    """Return a table of loops as lines that fit the width."""
    cells = [_cells(loop, now) for loop in loops]
    columns = {name: [name, *rest] for name, *rest in zip(_COLUMNS, *cells, strict=True)}
    _fit(columns, width)
    padded = [[cell.ljust(_width(column)) for cell in column] for column in columns.values()]
    head, *lines = ["  ".join(line).rstrip() for line in zip(*padded, strict=True)]
    room = min(200, width - _used(columns) - 2)
    shown = [head]
    for line, reason in zip(lines, (reason_words(loop) for loop in loops), strict=True):
        if room >= _SHORTEST_REASON:
            shown.append(f"{line}  {one_line(reason, room)}".rstrip())
        else:
            shown += [line, f"    {one_line(reason, width - 4)}"] if reason else [line]
    return shown


def progress_words(loop: LoopSummary) -> str:
    """Format a loop's iterations: `3/10`, followed by the total over all runs if it differs."""
    if not loop.running:
        return str(loop.iteration)
    limit = "" if loop.limits.max_iterations is None else f"/{loop.limits.max_iterations}"
    total = f" ({loop.iteration})" if loop.iteration != loop.run_iteration else ""
    return f"{loop.run_iteration}{limit}{total}"


def reason_words(loop: LoopSummary) -> str:
    """Return why a loop has ended, and whether anything but the agent's word says that it is done."""
    word = loop.status is Status.DONE and loop.memory.proof not in VERIFIED
    return f"on the agent's word: {loop.reason}" if word else loop.reason


def _cells(loop: LoopSummary, now: datetime) -> tuple[str, ...]:
    return (
        loop.id,
        str(loop.door),
        one_line(loop.name, 40),
        one_line(loop.fleet_id or loop.change, 60),
        loop.word,
        progress_words(loop),
        words.duration(loop.age_s(now)),
    )


def _fit(columns: dict[str, list[str]], width: int) -> None:
    """Shorten change names to fit the width, and drop columns first if 24 characters of a name would not remain."""
    change = columns["CHANGE"]
    spare = max(0, _width(change) - _READABLE)
    for name in ("COMMAND", "PROJECT"):
        if _used(columns) - spare > width:
            del columns[name]
    room = max(_width(change) - max(0, _used(columns) - width), len("CHANGE"))
    columns["CHANGE"] = [one_line(cell, room) for cell in change]


def _used(columns: dict[str, list[str]]) -> int:
    return sum(map(_width, columns.values())) + 2 * (len(columns) - 1)


def _width(column: list[str]) -> int:
    return max(map(len, column))
