"""Runs the benchmarks: `make bench`, `make bench-quick`, or `python -m bench startup iteration`."""

import argparse
import importlib
import json
from collections.abc import Sequence
from pathlib import Path

from bench.frame import Row
from bench.peers import installed, troubles
from bench.report import RESULTS, line, machine, page

NAMES = ("startup", "iteration", "output", "decoding", "checkpoints", "tui", "idle", "scaling", "suite")
PROFILES = Path(__file__).parent / "profiles.json"
"""Why an aim is missed, by the start of its figure's name."""


def main() -> None:
    """Measure, print each row, and write the results."""
    options = _options()
    measured_on = machine()
    print(measured_on, flush=True)
    rows: list[Row] = []
    for name in options.names or NAMES:
        print(f"--- {name}", flush=True)
        module = importlib.import_module(f"bench.{name}")
        if not hasattr(module, "rows"):  # the fleet prints its own
            module.main()
            continue
        found: Sequence[Row] = module.rows(quick=options.quick)
        for row in found:
            print(line(row), flush=True)
        rows += found
        if options.write:
            versions = {peer.name: peer.version for peer in installed()}
            RESULTS.write_text(page([_explained(row) for row in rows], measured_on, versions, troubles()))


def _explained(row: Row) -> Row:
    from dataclasses import replace

    profiles: dict[str, str] = json.loads(PROFILES.read_text()) if PROFILES.exists() else {}
    return replace(row, why=next((why for start, why in profiles.items() if row.figure.startswith(start)), ""))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("names", nargs="*", help=f"what to measure: {', '.join(NAMES)}, fleet")
    parser.add_argument("--quick", action="store_true", help="Spool against the floors only, in two minutes")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    return parser.parse_args()


if __name__ == "__main__":
    main()
