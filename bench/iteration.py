"""What an iteration costs, as a ratio to spawning the agent and one `git status`."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.frame import CHANGE, Row, Stage, Took, clocked, compared, in_turns, left_out, stage, timed
from bench.peers import Peer, installed

LARGE = 1_000
FEW, MANY = 5, 25
FEW_LARGE, MANY_LARGE = 2, 22
"""In a large repository, where other loops take seconds for an iteration."""
Words = Callable[[int], list[str | Path]]
AIMS = {200: 2.5, 20_000: 1.1}


LOADED_AIM = 4.0
BEFORE_GATES = "2a6e0cb331e85085c113b1d362227305b6fef22c"
"""The last commit of Spool without gates."""


def rows(*, quick: bool = False) -> list[Row]:
    """Measure a small and a large repository, a busy machine, and Spool before it had gates."""
    found = [_row(files, aim, quick=quick) for files, aim in AIMS.items() if not (quick and files > 200)]
    return found if quick else [*found, _under_load(), *_since_gates()]


def _under_load() -> Row:
    """Measure beside twice as many busy processes as there are cores."""
    with stage() as here, ExitStack() as running:
        for _ in range(2 * (os.cpu_count() or 1)):
            running.callback(_end, subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        found = in_turns(5, _against_floor(here, (FEW, MANY)))
    return compared("an iteration ÷ (spawn + `git status`), 200 files, under load", LOADED_AIM, found)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def _since_gates() -> list[Row]:
    """Measure a loop without gates against the Spool that had none, each in a project of its own."""
    figure = "an iteration without gates ÷ the same before there were gates"
    with TemporaryDirectory(prefix="spool-bench-") as folder:
        words = f"git archive {BEFORE_GATES} src | tar -x -C {shlex.quote(folder)}"
        done = subprocess.run(
            ["sh", "-c", words], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False
        )
        if not (Path(folder) / "src/spool").is_dir():
            left_out[figure] = f"the commit is not in this repository ({done.stderr.strip()})"
            return []
        with stage() as then, stage() as now:
            then.env["PYTHONPATH"] = str(Path(folder) / "src")
            measures = {
                "before gates": partial(per_iteration, then, spool_words, (FEW, MANY)),
                "spool": partial(per_iteration, now, spool_words, (FEW, MANY)),
            }
            return [compared(figure, 1.0, in_turns(7, measures))]


def _against_floor(here: Stage, counts: tuple[int, int]) -> dict[str, Callable[[], Took]]:
    return {"floor": partial(_floor, here, counts), "spool": partial(per_iteration, here, spool_words, counts)}


def _row(files: int, aim: float, *, quick: bool) -> Row:
    counts = (FEW_LARGE, MANY_LARGE) if files > LARGE else (FEW, MANY)
    with stage(files) as here:
        measures = _against_floor(here, counts)
        for peer in [] if quick else installed():
            peer.prepare(here)
            measures[peer.name] = partial(_of_peer, here, peer, counts)
        found = in_turns(3 if quick or files > LARGE else 5, measures)
    return compared(f"an iteration ÷ (spawn + `git status`), {files:,} files", aim, found)


def _floor(here: Stage, counts: tuple[int, int]) -> Took:
    times = counts[1] - counts[0]

    def bare() -> None:
        for _ in range(times):
            timed(["agent"], here.root, here.env)
            timed(["git", "status", "--porcelain"], here.root, here.env)

    return clocked(bare).per(Took(0, 0), times)


def spool_words(count: int) -> list[str | Path]:
    """Return the command of a loop with the given number of iterations."""
    words = ["ralph", "x", "-c", CHANGE, "--harness", "stub", "--no-stream", "--max-iterations", str(count)]
    return [sys.executable, "-m", "spool", *words]


def per_iteration(here: Stage, words: Words, counts: tuple[int, int] = (FEW, MANY)) -> Took:
    """Return what one iteration takes: many take as long as few and the difference."""
    fewest, most = counts
    start = here.calls
    few = timed(words(fewest), here.root, here.env)
    between = here.calls
    many = timed(words(most), here.root, here.env)
    more = (here.calls - between) - (between - start)  # some loops start an agent once to see that it works
    if more != most - fewest:
        raise ValueError(f"{more} iterations more instead of {most - fewest}")
    return many.per(few, most - fewest)


def _of_peer(here: Stage, peer: Peer, counts: tuple[int, int]) -> Took:
    return per_iteration(here, lambda count: peer.iterate(here, count), counts)
