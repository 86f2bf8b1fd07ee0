"""Checkpoints against `git status` and `git stash -u`, in repositories of several sizes."""

import asyncio
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from bench.frame import Row, Took, clock, clocked, compared, git, make_files
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import Repository, find_repository

UNCHANGED_AIMS = {1_000: 1.8, 20_000: 0.9, 100_000: 0.7}
DIRTY = 100
DIRTY_FILES, DIRTY_AIM = 20_000, 0.5
FIRST_FILES, FIRST_AIM_S = 100_000, 2.5


def rows(*, quick: bool = False) -> list[Row]:
    """Measure every size."""
    found: list[Row] = []
    for files, aim in UNCHANGED_AIMS.items():
        if quick and files > 1_000:
            break
        with tempfile.TemporaryDirectory(prefix="spool-bench-", ignore_cleanup_errors=True) as folder:
            top = Path(folder) / "project"
            top.mkdir()
            make_files(top, files)
            found += asyncio.run(_measure(top, files, aim, 3 if quick else 9))
    return found


async def _measure(top: Path, files: int, aim: float, rounds: int) -> list[Row]:
    repository = await find_repository(top, timeout_s=120)
    assert isinstance(repository, Repository)
    checkpoints = Checkpoints(repository, "bench", now=lambda: datetime.now(UTC), timeout_s=120)
    began = time.perf_counter()
    await checkpoints.save("first")
    first_s = time.perf_counter() - began
    await checkpoints.save("settled")
    rows = [await _unchanged(top, checkpoints, files, aim, rounds)]
    if files == FIRST_FILES:
        figure = f"first checkpoint of {files:,} files, s"
        rows.append(Row(figure=figure, value=first_s, aim=FIRST_AIM_S, shown=f"{first_s:.1f} s", unit="s"))
    if files == DIRTY_FILES:
        rows.append(await _dirty(top, checkpoints, files, rounds))
    return rows


async def _unchanged(top: Path, checkpoints: Checkpoints, files: int, aim: float, rounds: int) -> Row:
    found: dict[str, list[Took]] = {"git status": [], "checkpoint": []}
    for _ in range(rounds):
        found["git status"].append(clocked(lambda: git(top, "status", "--porcelain")))
        found["checkpoint"].append(await _saved(checkpoints))
    return compared(f"checkpoint, unchanged ÷ `git status`, {files:,} files", aim, found, ours="checkpoint")


async def _dirty(top: Path, checkpoints: Checkpoints, files: int, rounds: int) -> Row:
    found: dict[str, list[Took]] = {"git stash -u": [], "checkpoint": []}
    for number in range(rounds):
        make_dirty(top, files, f"{number}")
        found["git stash -u"].append(clocked(lambda: git(top, "stash", "-q", "-u")))
        git(top, "stash", "pop", "-q")
        found["checkpoint"].append(await _saved(checkpoints))
    figure = f"checkpoint, {DIRTY} dirty of {files:,} files ÷ `git stash -u`"
    return compared(figure, DIRTY_AIM, found, ours="checkpoint")


async def _saved(checkpoints: Checkpoints) -> Took:
    with clock() as took:
        await checkpoints.save("bench")
    return took()


def make_dirty(top: Path, files: int, text: str) -> None:
    """Change a hundred files, and write a new one."""
    for number in range(0, files, files // DIRTY):
        (top / f"d{number // 2000}/s{number // 20 % 100}/f{number}.txt").write_text(f"agent {text}\n")
    (top / "new").mkdir(exist_ok=True)
    (top / "new/file").write_text(text)
