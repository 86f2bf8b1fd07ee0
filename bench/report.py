"""Writes the results: the machine, a table whose rows end as met or missed, and a chart for each figure."""

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir

from bench.frame import Row, is_busy, left_out

RESULTS = Path(__file__).parent / "RESULTS.md"
_WIDTH = 40
_HEAD = """# How fast Spool is

{day}, {machine}. `make bench` measures again and writes this file; `make bench-quick` prints the part without other
loops and large repositories in two minutes.

All that is compared runs in turns within one run. A figure is the median of the ratios of each round, with the range of
the middle half of them in brackets. "Processor time" is the same ratio of the time that processes really ran, which
other work on the machine changes less: where the load is higher than the number of cores (here: {busy}), it decides
whether an aim is met. For other loops it is in brackets. Every loop runs the same stub agent, and the pauses that some
loops make between iterations are removed. `docs/evidence.md` says what was tried, and what it brought.
"""


def machine() -> str:
    """Return what it was measured on, and how busy that was."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout.split()[-1]
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    kernel = f"{platform.system()} {platform.release().partition('-')[0]}"
    words = ["stat", "-f", "-c", "%T", gettempdir()]
    disk = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    python = f"Python {platform.python_version()}"
    return f"{os.cpu_count()} cores, load averages {load}, {kernel}, files on {disk}, {python}, git {git}"


def line(row: Row) -> str:
    """Return a row for a terminal."""
    aim = f"{'≥' if row.at_least else '≤'} {row.aim:g}"
    peers = f"  [{row.peers}]" if row.peers else ""
    return f"{'met   ' if row.met else 'MISSED'} {row.figure:66} {row.shown:34} {_busy(row):6} aim {aim}{peers}"


def page(rows: Sequence[Row], measured_on: str, versions: dict[str, str], troubles: dict[str, str]) -> str:
    """Return the results as Markdown."""
    parts = [_HEAD.format(day=f"{datetime.now(UTC):%Y-%m-%d}", machine=measured_on, busy="yes" if is_busy() else "no")]
    parts.append(
        "| figure | floor | other loops | Spool | processor time | aim | |\n|---|---|---|---|---|---|---|\n"
        + "".join(map(_cells, rows))
    )
    missed = [f"- {row.figure}: {row.why}\n" for row in rows if not row.met and row.why]
    if missed:
        parts.append("## Missed\n\n" + "".join(missed))
    known = [f"- {name} {version}\n" for name, version in versions.items()]
    known += [f"- {name}: not driven, {why}\n" for name, why in troubles.items()]
    known += [f"- {name}: left out of a comparison, {why}\n" for name, why in left_out.items()]
    parts.append("## Other loops\n\n" + "".join(known))
    parts.append("## Charts\n\n" + "\n".join(_chart(row) for row in _distinct(rows)))
    return "\n".join(parts)


def _cells(row: Row) -> str:
    aim = f"{'≥' if row.at_least else '≤'} {row.aim:g}"
    figure = row.figure.replace("|", "\\|")
    end = "met" if row.met else "**missed**"
    return f"| {figure} | {row.floor} | {row.peers} | {row.shown} | {_busy(row)} | {aim} | {end} |\n"


def _busy(row: Row) -> str:
    return "" if row.busy is None else f"{row.busy:.2f}"


def _distinct(rows: Sequence[Row]) -> list[Row]:
    """Return one row per chart: the commands share theirs."""
    charts = {tuple(row.bars): row for row in reversed(rows) if row.bars}
    return list(reversed(charts.values()))


def _chart(row: Row) -> str:
    most = max(row.bars.values()) or 1.0
    names = max(map(len, row.bars))
    bars = [
        f"{name:<{names}}  {'█' * max(1, round(value / most * _WIDTH)):<{_WIDTH}}  {value:,.1f}"
        for name, value in row.bars.items()
    ]
    return f"{row.figure} ({row.unit})\n\n```text\n" + "\n".join(bars) + "\n```\n"
