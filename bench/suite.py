"""How long the suite takes: `make fast` and `make test`."""

import subprocess
from pathlib import Path

from bench.frame import Row, clock

ROOT = Path(__file__).parent.parent
AIMS_S = {"fast": 90.0, "test": 720.0}


def rows(*, quick: bool = False) -> list[Row]:
    """Run both; one that fails ends the benchmarks without a row: the time of a red suite is no result."""
    return [] if quick else [_row(target, aim_s) for target, aim_s in AIMS_S.items()]


def _row(target: str, aim_s: float) -> Row:
    with clock() as took:
        done = subprocess.run(["make", target], cwd=ROOT, capture_output=True, text=True, check=False)
    seconds = took().seconds
    return row_of(target, aim_s, done, seconds)


def row_of(target: str, aim_s: float, done: subprocess.CompletedProcess[str], seconds: float) -> Row:
    """Return the row of a run of the suite; exit unless all of it passed."""
    last = next((line.strip("= ") for line in reversed(done.stdout.splitlines()) if " in " in line), "no result")
    if done.returncode:
        print(done.stdout[-20_000:], done.stderr[-2_000:], flush=True)
        raise SystemExit(f"`make {target}` failed ({last}): no row is written for it")
    return Row(figure=f"`make {target}`, s", value=seconds, aim=aim_s, shown=f"{seconds:.0f} s ({last})", unit="s")
