"""What a loop costs while its agent is silent: memory and processor time of fifty runners."""

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from bench.frame import CHANGE, Row, Stage, git, middle, stage
from bench.output import resident_mb

LOOPS = 50
WATCHED_S = 30.0


def rows(*, quick: bool = False) -> list[Row]:
    """Start fifty loops whose agents sleep, and look at their runners for half a minute."""
    if quick:
        return []
    with stage(1) as here, ExitStack() as running:
        here.agent("agent", "#!/bin/sh\nexec sleep 3600\n")
        runners = [_start(here, number) for number in range(LOOPS)]
        for runner in runners:
            running.callback(_stop, runner)
        _wait_for_agents(here)
        before = [_busy_s(runner.pid) for runner in runners]
        time.sleep(WATCHED_S)
        used = [(_busy_s(runner.pid) - was) / WATCHED_S * 100 for runner, was in zip(runners, before, strict=True)]
        memory = [resident_mb(runner.pid) for runner in runners]
    shown = f"median {middle(memory):.1f} MB, largest {max(memory):.1f}"
    share = f"median {middle(used):.3f}%, largest {max(used):.3f}%"
    return [
        Row(figure=f"{LOOPS} loops with idle agents, MB each", value=middle(memory), aim=33.0, shown=shown, unit="MB"),
        Row(
            figure=f"{LOOPS} loops with idle agents, % of a core each",
            value=middle(used),
            aim=0.05,
            shown=share,
            unit="%",
        ),
    ]


def _start(here: Stage, number: int) -> "subprocess.Popen[bytes]":
    root = here.root.parent / f"loop-{number}"
    (root / ".spool/changes" / CHANGE).mkdir(parents=True)
    (root / ".spool/changes" / CHANGE / "proposal.md").write_text("# Bench\n")
    git(root, "init", "-q")
    words = ["ralph", "x", "-c", CHANGE, "--harness", "stub", "--no-stream"]
    return subprocess.Popen(
        [sys.executable, "-m", "spool", *words],
        cwd=root,
        env=here.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wait_for_agents(here: Stage) -> None:
    until = time.monotonic() + 120
    state = f".spool/.state/ralph/{CHANGE}/logs/0001.out"
    while time.monotonic() < until:
        if all((here.root.parent / f"loop-{number}" / state).exists() for number in range(LOOPS)):
            break
        time.sleep(0.2)
    time.sleep(12)  # from ten silent seconds on, a runner looks less often


def _stop(runner: "subprocess.Popen[bytes]") -> None:
    runner.terminate()
    runner.wait()


def _busy_s(pid: int) -> float:
    """Return the time that all threads of a process have run: to the nanosecond, `stat` counts 10 ms."""
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
