"""Prints the table, and writes the page with the results."""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from bench.gates.behaviours import CAST, MAX_ITERATIONS, Loop
from bench.gates.measures import Measured
from bench.gates.tools import NOT_DRIVEN, REVIEWS, TOOLS

RESULTS = Path(__file__).parent.parent / "RESULTS-gates.md"
FLOOR = TOOLS[0].name
_HEAD = ("loop", "measured", "false accepts", "false stops", "ended right", "iterations", "wasted", "wall", "in gates")


@dataclass(frozen=True)
class Circumstances:
    """When and on what the figures were measured."""

    seed: int
    day: date
    troubles: Mapping[str, str]
    """Tools that cannot be driven, each with the reason."""


def table(rows: Sequence[Measured]) -> list[str]:
    """Return one line per tool, as Markdown."""
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD))]
    by_tool = [[row for row in rows if row.tool == tool.name] for tool in TOOLS]
    return lines + [_line(_figures(own, rows)) for own in by_tool if own]


def _figures(own: Sequence[Measured], rows: Sequence[Measured]) -> list[str]:
    numbers = {row.number for row in own}
    floor = [row.wall_s for row in rows if row.tool == FLOOR and row.number in numbers]
    wall = statistics.median(row.wall_s for row in own)
    ratio = f"{wall / statistics.median(floor):.0f} x" if floor else "?"
    gates = sum(row.gate_s for row in own) / sum(row.wall_s for row in own)
    return [
        own[0].tool,
        str(len(own)),
        str(sum(row.false_accept for row in own)),
        str(sum(row.false_stop for row in own)),
        str(sum(row.done and row.right for row in own)),
        str(sum(row.iterations for row in own)),
        f"{sum(row.after_right for row in own)} + {sum(row.unchanged for row in own)}",
        ratio,
        f"{gates:.0%}" if gates else "-",
    ]


def page(rows: Sequence[Measured], loops: Sequence[Loop], circumstances: Circumstances) -> str:
    """Return the whole page."""
    return "\n".join(
        [
            "# What stops a loop, measured",
            "",
            f"{circumstances.day}, {os.cpu_count()} cores at a load of {os.getloadavg()[0]:.0f}, "
            f"seed {circumstances.seed}. `make bench-gates` measures again and writes this file.",
            "",
            *_cast_line(loops),
            "",
            *table(rows),
            "",
            *_LEGEND,
            "",
            "## False accepts and false stops by behaviour",
            "",
            *_by_behaviour(rows, loops),
            "",
            "`a` of `n` accepted falsely, `+ s` stopped falsely; `-` if none.",
            "",
            "## What the gates said of accepted work",
            "",
            *_by_verdict(rows),
            "",
            "## Versions, and what was not driven",
            "",
            *_versions(rows, circumstances),
            "",
        ]
    )


def _cast_line(loops: Sequence[Loop]) -> list[str]:
    runners = Counter(loop.project.runner for loop in loops)
    used = ", ".join(f"{count} {name}" for name, count in runners.most_common())
    red = sum(loop.project.old_red for loop in loops)
    hidden = sum(not loop.project.showing for loop in loops)
    return [
        f"{len(loops)} generated projects ({used}); {red} have an unrelated test that fails from the start; "
        f"in {hidden} no test of the project shows the bug, in the others two do. Everything is scripted: the agents "
        f"are programs that write prepared files and claim completion. A loop has {MAX_ITERATIONS} iterations; "
        f"ralph-loop, which asks {REVIEWS} more to agree, has {MAX_ITERATIONS + REVIEWS}.",
    ]


_LEGEND = (
    "- **False accept**: the loop reports done, and the reference tests, which are outside the project, fail.",
    "- **False stop**: the reference tests pass on what is left, and the loop did not report done.",
    "- **Ended right**: reported done, and right. The rest stopped without done, and the work was wrong.",
    "- **Wasted**: iterations after the work was right + earlier ones that changed no file of the project.",
    "- **Wall**: median time of a loop, as a multiple of the bare loop's, whose agent costs almost nothing. An "
    "order of magnitude, as the load of the machine varied.",
    "- **In gates**: the share of the wall time in which a gate's command ran.",
    "- `claude -p /goal` is judged by a model. Here the model is a script, and reads the exit code without error: it "
    "says yes exactly if the check that ran last exited with 0. A real one may misread, or may notice an edited test.",
    "- ralph-loop's reviews are made by the same scripted agent, which claims again. A real agent may find more.",
    "- ralph-orchestrator pauses two seconds after each iteration, and has no flag against it.",
)


def _by_behaviour(rows: Sequence[Measured], loops: Sequence[Loop]) -> list[str]:
    tools = [tool.name for tool in TOOLS if any(row.tool == tool.name for row in rows)]
    lines = [_line(["behaviour", "loops", *tools]), _line(["---"] * (len(tools) + 2))]
    for behaviour, (count, _) in CAST.items():
        cells = []
        for tool in tools:
            own = [row for row in rows if row.tool == tool and loops[row.number].behaviour == behaviour]
            accepts, stops = sum(row.false_accept for row in own), sum(row.false_stop for row in own)
            cells.append(_cell(accepts, stops, len(own)))
        lines.append(_line([behaviour, str(count), *cells]))
    return lines


def _cell(accepts: int, stops: int, count: int) -> str:
    if not count:
        return "not measured"
    parts = [f"{accepts} of {count}"] if accepts else []
    parts += [f"+ {stops}"] if stops else []
    return " ".join(parts) or "-"


def _by_verdict(rows: Sequence[Measured]) -> list[str]:
    lines = [_line(["loop", "verdict", "accepted", "of them false"]), _line(["---"] * 4)]
    for tool in TOOLS:
        own = [row for row in rows if row.tool == tool.name and row.done and row.verdict]
        for verdict, count in Counter(row.verdict for row in own).most_common():
            false = sum(row.false_accept for row in own if row.verdict == verdict)
            lines.append(_line([tool.name, verdict, str(count), str(false)]))
    return lines


def _versions(rows: Sequence[Measured], circumstances: Circumstances) -> list[str]:
    driven = [tool for tool in TOOLS if any(row.tool == tool.name for row in rows)]
    lines = [f"- {tool.name}: {version}" for tool in driven if (version := tool.version())]
    left_out = {**circumstances.troubles, **NOT_DRIVEN}
    return lines + [f"- {name}: not driven. {why[:1].upper()}{why[1:]}." for name, why in left_out.items()]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
