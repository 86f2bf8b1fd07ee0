"""How fast an agent's output is read, and how much memory that takes."""

import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from bench.frame import CHANGE, Row, Stage, Took, busy_ratio, in_turns, middle, middle_ms, ratios, spread, stage, timed
from bench.peers import installed

MB = 200
LARGE_MB = 1_024
_LEAST_S = 0.05
"""Printing alone uses more processor time."""
AGENT = """\
import os
size, block = int(os.environ["MB"]) << 20, (b"x" * 99 + b"\\n") * 10_000
while size > 0:
    os.write(1, block)
    size -= len(block)
print("<promise>COMPLETE</promise>")
"""


def rows(*, quick: bool = False) -> list[Row]:
    """Measure speed and, unless quick, memory."""
    with stage(10) as here:
        (here.root / "agent.py").write_text(AGENT)
        here.agent("agent", f"#!/bin/sh\nexec {sys.executable} {here.root / 'agent.py'}\n")
        speed = _speed(here, quick=quick)
        return [speed] if quick else [speed, *_memory(here)]


def _speed(here: Stage, *, quick: bool) -> Row:
    tee: list[str | Path] = ["sh", "-c", "agent | tee out.txt | grep -c '<promise>'"]
    measures = {"tee | grep -c": partial(_beyond_start, here, tee), "spool": partial(_beyond_start, here, _spool())}
    for peer in [] if quick else installed():
        if peer.name == "ralphify":  # the only one that reads plain text from any agent
            peer.prepare(here)
            measures[peer.name] = partial(_beyond_start, here, [*peer.iterate(here, 1), "--log-dir", "kept"])
    found = in_turns(3 if quick else 5, measures)
    floor = found["tee | grep -c"]
    each = ratios(floor, found["spool"])
    peers = ", ".join(f"{name} {middle(ratios(floor, found[name])):.2f}" for name in list(found)[2:])
    return Row(
        figure=f"{MB} MB of plain text, speed ÷ `tee | grep -c`",
        value=middle(each),
        busy=busy_ratio(floor, found["spool"]),
        aim=0.5,
        at_least=True,
        shown=f"{spread(each)}, {MB / middle_ms(found['spool']) * 1e3:.0f} MB/s",
        floor=f"{MB / middle_ms(floor) * 1e3:.0f} MB/s",
        peers=peers,
        bars={name: MB / middle_ms(values) * 1e3 for name, values in found.items()},
        unit="MB/s",
    )


def _beyond_start(here: Stage, words: list[str | Path]) -> Took:
    """Return what the output takes beyond a run that prints nothing."""
    nothing = _once(here, words, 0)
    took = _once(here, words, MB).per(nothing, 1)
    if took.busy_s < _LEAST_S:
        raise ValueError("it has not read the output")
    return took


def _once(here: Stage, words: list[str | Path], size: int) -> Took:
    clear(here)
    return timed(words, here.root, {**here.env, "MB": str(size)})


def clear(here: Stage) -> None:
    """Remove what earlier runs have left."""
    for folder in (here.root / ".spool/.state", here.root / ".git/spool"):
        shutil.rmtree(folder, ignore_errors=True)


def _spool() -> list[str | Path]:
    words = ["ralph", "x", "-c", CHANGE, "--harness", "stub", "--no-stream", "--max-iterations", "1"]
    return [sys.executable, "-m", "spool", *words]


def _memory(here: Stage) -> list[Row]:
    peaks = {size: _peak(here, size) for size in (1, LARGE_MB)}
    shown = f"{peaks[LARGE_MB]:.1f} MB, {peaks[LARGE_MB] - peaks[1]:+.1f} over 1 MB of output"
    figure = "the runner's peak RSS at 1 GB of output, MB"
    return [
        Row(
            figure=figure,
            value=peaks[LARGE_MB],
            aim=33.0,
            shown=shown,
            unit="MB",
            bars={f"{n} MB": p for n, p in peaks.items()},
        )
    ]


def _peak(here: Stage, size: int) -> float:
    """Return the runner's own peak: `ru_maxrss` would count what its parent had when it forked."""
    clear(here)
    env = {**here.env, "MB": str(size)}
    process = subprocess.Popen(_spool(), cwd=here.root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, high_water_mb(process.pid))
        time.sleep(0.02)
    return peak


def high_water_mb(pid: int) -> float:
    """Return the most memory that a process has held since its program started."""
    return _status_mb(pid, "VmHWM")


def resident_mb(pid: int) -> float:
    """Return the memory that a process holds."""
    return _status_mb(pid, "VmRSS")


def _status_mb(pid: int, name: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1_024 / 1e6 for line in lines if line.startswith(f"{name}:")), 0.0)
