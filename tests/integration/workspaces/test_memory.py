"""A loop whose agent works takes less than 40 MB: its runner and the agents' supervisor, shared pages counted once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support import PATIENCE_S, Scratch, wait_for

LOOPS = 6
_MOST_KB = 40_000
IDLE = """
import os, pathlib
pathlib.Path(os.environ["HOME"], "started-" + os.environ["SPOOL_CHANGE"]).touch()
os.execvp("sleep", ["sleep", "600"])
"""


def proportional_kb(pid: int) -> int:
    """Return the proportional set size of a process: a page that n processes share counts as 1/n."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Pss:")))


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_loops_with_idle_agents_take_less_than_40_mb_each(scratch: Scratch) -> None:
    changes = [f"change-{number}" for number in range(LOOPS)]
    for change in changes:
        folder = scratch.root / ".spool" / "changes" / change
        folder.mkdir(parents=True)
        (folder / "proposal.md").write_text("# x\n")
        (folder / "tasks.md").write_text("## 1. x\n\n- [ ] 1.1 x\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "changes")
    scratch.agent(IDLE)
    process = scratch.start("run", *changes, "--parallel", str(LOOPS), "--harness", "opencode")
    try:
        wait_for(lambda: all((scratch.home / f"started-{change}").exists() for change in changes))
        for change in changes:
            state = json.loads((scratch.root / ".spool" / ".state" / "run" / change / "state.json").read_text())
            runner = state["runner"]["pid"]
            supervisor = [int(pid) for pid in Path(f"/proc/{runner}/task/{runner}/children").read_text().split()]
            assert sum(map(proportional_kb, [runner, *supervisor])) < _MOST_KB
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
