"""Draws the fleet in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spool.domain.change.workspaces import branch_of_change
from spool.domain.loop.state import IterationRecord
from spool.domain.text.plain_text import counted, with_reason
from spool.fleet.values import RunStep, SnapshotMark
from spool.views.tables import room, table

if TYPE_CHECKING:
    from spool.fleet.queue.queue import FleetRow

_HEAD = ("id", "status", "story", "iterations", "cost", "host")


def step_line(step: RunStep, mark: SnapshotMark) -> str:
    """Return what a worker prints about a step; empty for one that says nothing new."""
    match step:
        case RunStep.CLAIM:
            return f"{mark.change}: taken ({counted(mark.epoch, 'host')} so far)"
        case RunStep.AGENT:
            return f"{mark.change}: iteration {mark.iteration}{f', story {mark.story}' if mark.story else ''}"
        case RunStep.RESULT:
            return f"{mark.change}: {with_reason(mark.stage, mark.reason)}"
        case _:
            return ""


def table_of(rows: "Sequence[FleetRow]") -> list[str]:
    """Return the changes in the fleet as a table, and a line with how many there are of each status."""
    cells = [_cells(row) for row in rows]
    lines = table(
        _HEAD,
        cells,
        width=room(),
        left=("id", "status", "story", "host"),
        drop=("host", "cost"),
        notes=[row.reason for row in rows],
        noted="",
    )
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    return [*lines, ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))]


def row_lines(row: "FleetRow", history: Sequence[IterationRecord]) -> list[str]:
    """Return one change in the fleet as lines."""
    _, status, story, iterations, cost, host = _cells(row)
    lines = [f"{row.id}: {with_reason(status, row.reason, between=', ')}"]
    branch = f"{branch_of_change(row.change)} at {row.remote}" if row.status == "done" and not row.exit_code else "-"
    known = (("story", story), ("host", host), ("account", row.account or "-"), ("cost", cost), ("result", branch))
    lines += [f"  {name}: {value}" for name, value in known if value != "-"]
    lines.append(f"  iterations: {iterations}")
    lines += [f"    {one.iteration}  {one.outcome}{f'  {one.reason}' if one.reason else ''}" for one in history]
    return lines


def _cells(row: "FleetRow") -> tuple[str, str, str, str, str, str]:
    loop = row.loop
    story = f"{loop.story.current}/{loop.story.total}" if loop and loop.story else "-"
    cost = f"${loop.usage.cost_usd:.2f}" if loop and loop.usage.cost_usd is not None else "-"
    return row.id, row.status, story, str(loop.iteration if loop else 0), cost, row.holder or "-"
