"""Checkpoint and revert against `git status` and `git stash -u`, in repositories of several sizes.

python -m bench.checkpoints [files ...]
"""

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import Repository, find_repository

SIZES = (1_000, 20_000, 100_000)
ROUNDS = 7
DIRTY = 100
FIRST_AIM_S = 30.0
UNCHANGED_AIM = 1.5
UNCHANGED_FLOOR_S = 0.05
"""Four git processes and two syncs of the disk are the least there is; for 1,000 files `git status` is one process."""


def main() -> None:
    """Measure every size and print a table."""
    sizes = [int(word) for word in sys.argv[1:] if word.isdigit()] or SIZES
    print(f"{'files':>8}  {'what':34} {'median':>9}  against git")
    missed = 0
    for files in sizes:
        base = Path(tempfile.mkdtemp(prefix="spool-bench-"))
        try:
            missed += asyncio.run(_measure(base, files))
        finally:
            shutil.rmtree(base, ignore_errors=True)
    aims = f"first {FIRST_AIM_S:g} s; unchanged {UNCHANGED_AIM:g} x git status, or {UNCHANGED_FLOOR_S * 1e3:g} ms"
    print(f"{missed or 'no'} aims missed ({aims})")


async def _measure(base: Path, files: int) -> int:
    top = _repository(base, files)
    found = await find_repository(top, timeout_s=60)
    assert isinstance(found, Repository)
    checkpoints = Checkpoints(found, "bench", now=lambda: datetime.now(UTC), timeout_s=60)

    first_s = await _timed(lambda: checkpoints.save("first"))
    _row(files, "first checkpoint", first_s)
    saved = await checkpoints.save("settled")

    status, unchanged = [], []
    for _ in range(ROUNDS):  # in turn, so that a busy machine is unfair to both alike
        status.append(_git_timed(top, "status", "--porcelain"))
        unchanged.append(await _timed(lambda: checkpoints.save("again")))
    status_s, unchanged_s = statistics.median(status), statistics.median(unchanged)
    _row(files, "git status", status_s)
    _row(files, "checkpoint, unchanged", unchanged_s, f"{unchanged_s / status_s:.2f} x status")

    dirty, revert, stash, pop = [], [], [], []
    for number in range(ROUNDS):
        _touch(top, files, f"{number}")
        stash.append(_git_timed(top, "stash", "-q", "-u"))
        pop.append(_git_timed(top, "stash", "pop", "-q"))
        revert.append(await _timed(partial(checkpoints.revert, saved)))
        _touch(top, files, f"kept {number}")
        dirty.append(await _timed(lambda: checkpoints.save("dirty")))
        saved = await checkpoints.save("settled")
    stash_s, pop_s = statistics.median(stash), statistics.median(pop)
    _row(files, f"git stash -u, {DIRTY} dirty files", stash_s)
    _row(files, f"checkpoint, {DIRTY} dirty files", statistics.median(dirty), _against(dirty, stash_s, "stash"))
    _row(files, "git stash pop", pop_s)
    _row(files, f"revert of {DIRTY} files, all kept", statistics.median(revert), _against(revert, stash_s, "stash"))
    return (first_s > FIRST_AIM_S) + (unchanged_s > max(UNCHANGED_FLOOR_S, UNCHANGED_AIM * status_s))


def _repository(base: Path, files: int) -> Path:
    top = base / "project"
    for number in range(files):
        folder = top / f"d{number // 2000}" / f"s{number // 20 % 100}"
        if number % 20 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}.txt").write_text(f"file {number}\n" * 20)
    (top / ".gitignore").write_text("*.log\n.env\nnode_modules/\n")
    (top / ".env").write_text("SECRET=1\n")
    (top / "node_modules/lib").mkdir(parents=True)
    (top / "node_modules/lib/index.js").write_text("1\n")
    for words in (
        ["init", "-q"],
        ["config", "gc.auto", "0"],
        ["add", "-A"],
        ["commit", "-qm", "1"],
        ["repack", "-adq"],
    ):
        _git(top, *words)
    time.sleep(1.1)  # git compares whole seconds; a tree made a second ago is slow for everyone
    _git(top, "status")
    return top


def _touch(top: Path, files: int, text: str) -> None:
    step = max(1, files // DIRTY)
    for number in range(0, files, step):
        (top / f"d{number // 2000}/s{number // 20 % 100}/f{number}.txt").write_text(f"agent {text}\n")
    (top / "new").mkdir(exist_ok=True)
    (top / "new/file").write_text(text)


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def _git_timed(top: Path, *words: str) -> float:
    began = time.perf_counter()
    _git(top, *words)
    return time.perf_counter() - began


def _git(top: Path, *words: str) -> None:
    identity = {
        f"GIT_{who}_{what}": "bench@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    subprocess.run(
        ["git", *words], cwd=top, env={**os.environ, **identity}, check=True, stdout=subprocess.DEVNULL, timeout=600
    )


def _against(times: list[float], other_s: float, name: str) -> str:
    return f"{statistics.median(times) / other_s:.2f} x {name}"


def _row(files: int, what: str, seconds: float, ratio: str = "") -> None:
    print(f"{files:>8,}  {what:34} {seconds * 1000:>6.0f} ms  {ratio}", flush=True)


if __name__ == "__main__":
    main()
