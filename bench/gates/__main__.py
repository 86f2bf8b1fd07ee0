"""Plays every loop with every tool: `make bench-gates`, or `python -m bench.gates --tool "spool ralph --verify"`."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from bench.gates.behaviours import Loop, cast
from bench.gates.measures import Measured, Reference, measure
from bench.gates.report import RESULTS, Circumstances, page, table
from bench.gates.tools import TOOLS, Tool

SEED = 20261116


def main() -> None:
    """Measure what is not measured yet, print the table and write the results."""
    options = _options()
    print(f"seed {options.seed}", flush=True)
    loops = cast(Random(options.seed))
    tools = [tool for tool in TOOLS if not options.tool or tool.name in options.tool]
    troubles = {tool.name: trouble for tool in tools if (trouble := tool.trouble())}
    rows = Rows(options.rows)
    todo = [
        (tool, number)
        for tool in tools
        for number in range(len(loops))
        if tool.name not in troubles and (tool.name, number) not in rows.known
    ]
    reference = Reference()
    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(lambda pair: _one(pair[0], pair[1], loops, reference, rows), todo):
            pass
    found = sorted(rows.known.values(), key=lambda row: row.number)
    print("\n".join(table(found)))
    if options.write:
        circumstances = Circumstances(seed=options.seed, day=datetime.now(UTC).date(), troubles=troubles)
        RESULTS.write_text(page(found, loops, circumstances))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gates")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=2, help="loops at a time")
    parser.add_argument("--tool", action="append", help="measure only this tool; repeatable")
    parser.add_argument("--rows", type=Path, help="keep measurements in this file, and continue from it")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    return parser.parse_args()


class Rows:
    """The measurements, kept in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        found = [Measured(**json.loads(line)) for line in lines]
        self.known = {(row.tool, row.number): row for row in found}

    def add(self, row: Measured) -> None:
        self.known[row.tool, row.number] = row
        if self._path:
            with self._path.open("a") as file:
                file.write(json.dumps(asdict(row)) + "\n")


def _one(tool: Tool, number: int, loops: list[Loop], reference: Reference, rows: Rows) -> None:
    with tempfile.TemporaryDirectory(prefix="spool-gates-", ignore_cleanup_errors=True) as folder:
        try:
            row = measure(tool, number, loops[number], Path(folder) / "stage", reference)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:  # the table counts what was measured
            print(f"{tool.name}, loop {number + 1}: {error}", flush=True)
            return
    rows.add(row)
    end = "done" if row.done else "not done"
    print(
        f"{tool.name:24} {number + 1:3} {loops[number].behaviour:26} {end:8} {'right' if row.right else 'wrong'}",
        flush=True,
    )


if __name__ == "__main__":
    main()
