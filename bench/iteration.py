"""What an iteration costs beyond spawning the agent and one `git status`."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path

ITERATIONS = 40
FILES = 200
CHANGE = "001-01_bench"


def main() -> None:
    """Run a loop with an agent that does nothing, and compare with its bare floor."""
    with tempfile.TemporaryDirectory() as folder:
        root = make_project(Path(folder))
        floor = statistics.median(bare_iteration(root) for _ in range(ITERATIONS))
        overhead = statistics.median(iteration_times(root)) - floor
        print(f"spawn + git status          {floor * 1e3:6.1f} ms  ({FILES} files)")
        print(f"an iteration costs beyond   {overhead * 1e3:6.1f} ms  ({overhead / floor:.2f} x the floor; aim: 15 ms)")


def make_project(folder: Path) -> Path:
    root, change = folder / "project", folder / "project" / ".spool" / "changes" / CHANGE
    change.mkdir(parents=True)
    (change / "proposal.md").write_text("# Bench\n")
    (root / ".spool" / "config.toml").write_text('[harnesses.nothing]\nargv = ["true"]\n')
    for number in range(FILES):
        (root / f"file-{number}.txt").write_text(f"{number}\n" * 20)
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "--quiet", "--message", "start")
    return root


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def bare_iteration(root: Path) -> float:
    started = time.perf_counter()
    subprocess.run(["true"], cwd=root, check=True)
    git(root, "status", "--porcelain")
    return time.perf_counter() - started


def iteration_times(root: Path) -> list[float]:
    """Return the time from each iteration's start to the next one's."""
    words = ["ralph", "x", "-c", CHANGE, "--harness", "nothing", "--no-stream", "--max-iterations", str(ITERATIONS)]
    subprocess.run(
        [sys.executable, "-m", "spool", *words],
        cwd=root,
        env={**os.environ, "HOME": str(root)},
        check=False,
        capture_output=True,
    )
    lines = (root / ".spool/.state/ralph" / CHANGE / "history.jsonl").read_text().splitlines()
    starts = [datetime.fromisoformat(json.loads(line)["started_at"]).timestamp() for line in lines]
    return [after - before for before, after in pairwise(starts)]


if __name__ == "__main__":
    main()
