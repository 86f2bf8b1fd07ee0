"""What each shortcut of `spool.shortcuts` is worth: processor time without it, alone and all together, in one run."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench.checkpoints import DIRTY_FILES, make_dirty
from bench.frame import CHANGE, Stage, clock, git, stage, timed
from bench.iteration import FEW, FEW_LARGE, MANY, MANY_LARGE, spool_words
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import Repository, find_repository

SOURCE = Path(__file__).parents[1] / "src/spool/shortcuts.py"
ROUNDS = 5
"""The least of these counts: other work on the machine only ever adds."""
SAVES = 5
Measure = Callable[[], tuple[float, float]]
"""Returns milliseconds of processor time, and those of a start alone, which are subtracted."""


def main() -> None:
    """Print a row for each shortcut, in percent of each figure with all of them."""
    names = re.findall(r'_is_on\("([a-z-]+)"\)', SOURCE.read_text())
    without = ["", *names, "all"]
    with ExitStack() as stages:
        small, large = stages.enter_context(stage()), stages.enter_context(stage(DIRTY_FILES))
        figures: dict[str, tuple[Stage, Measure]] = {
            "--status": (small, partial(_status, small)),
            "iteration, 200 files": (small, partial(_iteration, small, (FEW, MANY))),
            "checkpoint, unchanged, 200": (small, partial(_saves, small, "unchanged")),
            "iteration, 20,000": (large, partial(_iteration, large, (FEW_LARGE, MANY_LARGE))),
            "checkpoint, unchanged, 20,000": (large, partial(_saves, large, "unchanged")),
            "checkpoint, 100 dirty of 20,000": (large, partial(_saves, large, "dirty")),
        }
        print(f"| without | {' | '.join(figures)} |", flush=True)
        columns = [_column(here, measure, without) for here, measure in figures.values()]
    for name in without:
        print(f"| {name or 'with all, ms'} | {' | '.join(column[name] for column in columns)} |", flush=True)


def _column(here: Stage, measure: Measure, without: list[str]) -> dict[str, str]:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in without}
    for _ in range(ROUNDS):
        for name in without:
            here.env["SPOOL_WITHOUT"] = name
            found[name].append(measure())
    took = {name: min(more for more, _ in pairs) - min(less for _, less in pairs) for name, pairs in found.items()}
    print({name: round(ms, 2) for name, ms in took.items()}, file=sys.stderr, flush=True)
    return {name: f"{ms / took[''] - 1:+.0%}" if name else f"{ms:.1f}" for name, ms in took.items()}


def _status(here: Stage) -> tuple[float, float]:
    words = [sys.executable, "-m", "spool", "ralph", "--status", "--change", CHANGE]
    return 1e3 * min(timed(words, here.root, here.env).busy_s for _ in range(SAVES)), 0


def _iteration(here: Stage, counts: tuple[int, int]) -> tuple[float, float]:
    fewest, most = counts
    many, few = (1e3 * timed(spool_words(count), here.root, here.env).busy_s for count in (most, fewest))
    return many / (most - fewest), few / (most - fewest)


def _saves(here: Stage, how: str) -> tuple[float, float]:
    words = [sys.executable, "-m", "bench.shortcuts", str(here.root), how]
    done = subprocess.run(words, env=here.env, cwd=SOURCE.parents[2], capture_output=True, check=True)
    return float(done.stdout), 0


async def _save(top: Path, *, dirty: bool) -> float:
    """Return the milliseconds of the cheapest save."""
    repository = await find_repository(top, timeout_s=120)
    assert isinstance(repository, Repository)
    checkpoints = Checkpoints(repository, "bench", now=lambda: datetime.now(UTC), timeout_s=120)
    await checkpoints.save("first")
    await checkpoints.save("settled")
    found = []
    for number in range(SAVES):
        if dirty:
            make_dirty(top, DIRTY_FILES, f"{number}")
            for words in (["stash", "-q", "-u"], ["stash", "pop", "-q"]):  # which rewrite the index, as agents do
                git(top, *words)
        with clock() as took:
            await checkpoints.save("bench")
        found.append(took().busy_s)
    return 1e3 * min(found)


if __name__ == "__main__":
    print(asyncio.run(_save(Path(sys.argv[1]), dirty=sys.argv[2] == "dirty")))
