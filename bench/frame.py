"""Measures in turns, so that a busy machine is unfair to all alike, and says whether an aim is met."""

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

PYTHON_SETTINGS = "PYTHON"
"""Variables that change how Python starts: PYTHONDONTWRITEBYTECODE alone makes each start compile everything."""
CHANGE = "001-01_bench"
TRIES = 3
left_out: dict[str, str] = {}
"""What could not be measured in this run, and why."""


class Took(NamedTuple):
    """How long something took, and how much processor time it and its children used."""

    seconds: float
    busy_s: float

    def per(self, less: "Took", count: int) -> "Took":
        """Return one part of what is left without another measurement; fail if noise has left nothing."""
        left = Took(self.seconds - less.seconds, self.busy_s - less.busy_s)
        if min(left) <= 0:
            raise ValueError("the machine was too busy: more took less time than fewer")
        return Took(left.seconds / count, left.busy_s / count)


@dataclass(frozen=True)
class Row:
    """One figure of the table."""

    figure: str
    value: float
    """What is compared with the aim, usually a ratio."""
    aim: float
    shown: str
    """The value with its spread."""
    floor: str = ""
    peers: str = ""
    at_least: bool = False
    """Whether the aim is a lower bound."""
    busy: float | None = None
    """The same in processor time, which a busy machine does not change much."""
    bars: Mapping[str, float] = field(default_factory=dict)
    """What a chart shows, by name."""
    unit: str = "ms"
    why: str = ""
    """Where the time goes, for an aim that is missed."""

    @property
    def met(self) -> bool:
        """Whether the aim is met; on a busy machine, in processor time where that is known."""
        judged = self.busy if self.busy is not None and is_busy() else self.value
        value = round(judged, 2 if self.aim >= 0.1 else 3)
        return value >= self.aim if self.at_least else value <= self.aim


@cache
def is_busy() -> bool:
    """Whether others used the machine when the run began."""
    return os.getloadavg()[0] > (os.cpu_count() or 1)


def in_turns(rounds: int, measures: Mapping[str, Callable[[], Took]]) -> dict[str, list[Took]]:
    """Take each measure once per round. One that fails is tried again, so that rounds stay pairs, or else left out."""
    found: dict[str, list[Took]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name in list(found):
            took = _tried(name, measures[name])
            if took is None:
                del found[name]
            else:
                found[name].append(took)
    return found


def _tried(name: str, measure: Callable[[], Took]) -> Took | None:
    for _ in range(TRIES):
        try:
            return measure()
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            print(f"  {name}: {error}", flush=True)
            why = str(error)
    left_out[name] = why
    return None


def ratios(values: Sequence[Took], floor: Sequence[Took]) -> list[float]:
    """Return the ratio of each round."""
    return [one.seconds / other.seconds for one, other in zip(values, floor, strict=False)]


def compared(figure: str, aim: float, found: Mapping[str, Sequence[Took]], *, ours: str = "spool") -> Row:
    """Return the row that compares ours with the first measure, the floor; the others are other loops."""
    bare, *names = found
    each, floor = ratios(found[ours], found[bare]), found[bare]
    others = [name for name in names if name != ours]
    peers = [
        f"{name} {middle(ratios(found[name], floor)):.1f} ({busy_ratio(found[name], floor):.1f})" for name in others
    ]
    return Row(
        figure=figure,
        value=middle(each),
        busy=busy_ratio(found[ours], floor),
        aim=aim,
        shown=f"{spread(each)}, {middle_ms(found[ours]):.0f} ms",
        floor=f"{middle_ms(floor):.0f} ms",
        peers=", ".join(peers),
        bars={name: middle_ms(values) for name, values in found.items()},
    )


def busy_ratio(values: Sequence[Took], floor: Sequence[Took]) -> float:
    """Return the ratio of the medians of processor time."""
    return middle([one.busy_s for one in values]) / middle([one.busy_s for one in floor])


def middle(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def middle_ms(values: Sequence[Took]) -> float:
    """Return the median in milliseconds."""
    return middle([one.seconds for one in values]) * 1e3


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Return the median, and the range of the middle half."""
    if len(values) < 3:
        return f"{middle(values):.{digits}f}"
    low, _, high = statistics.quantiles(values, n=4)
    return f"{middle(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def timed(words: Sequence[str | Path], directory: Path, env: Mapping[str, str]) -> Took:
    """Return what a command takes."""
    return clocked(
        lambda: subprocess.run(
            words, cwd=directory, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
    )


def clocked(work: Callable[[], object]) -> Took:
    """Return what some work takes, in this process and its children."""
    with clock() as took:
        work()
    return took()


@contextmanager
def clock() -> Iterator[Callable[[], Took]]:
    """Yield what returns, at the end of the context, how long it took."""
    busy, began = _busy_s(), time.perf_counter()
    yield lambda: Took(time.perf_counter() - began, _busy_s() - busy)


def _busy_s() -> float:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))


def git(top: Path, *words: str) -> None:
    """Run git, as somebody."""
    names = {f"GIT_{who}_{what}": "bench@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *words], cwd=top, env={**os.environ, **names}, check=True, capture_output=True)


@dataclass(frozen=True)
class Stage:
    """A scratch repository with a change, a home with harnesses, and stub agents first on PATH."""

    root: Path
    env: dict[str, str]

    @property
    def calls(self) -> int:
        """How often an agent was started."""
        path = self.root.parent / "bin/calls"
        return path.stat().st_size if path.exists() else 0

    def agent(self, name: str, script: str) -> None:
        """Put an agent on PATH."""
        path = self.root.parent / "bin" / name
        path.write_text(script)
        path.chmod(0o755)


STUB = '#!/bin/sh\nprintf . >>"${0%/*}/calls"\necho still working\n'
"""The agent of every loop that is compared; it counts its calls."""


@contextmanager
def stage(files: int = 200) -> Iterator[Stage]:
    """Set up a stage with a repository of the given number of files."""
    with TemporaryDirectory(prefix="spool-bench-", ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        root, home = base / "project", base / "home"
        for path in (base / "bin", home / ".config/spool", root / ".spool/changes" / CHANGE):
            path.mkdir(parents=True)
        (home / ".config/spool/config.toml").write_text('[harnesses.stub]\nargv = ["agent"]\n')
        (home / ".gitconfig").write_text("[user]\n\tname = b\n\temail = b@localhost\n[gc]\n\tauto = 0\n")
        (root / ".spool/changes" / CHANGE / "proposal.md").write_text("# Bench\n")
        (root / "PROMPT.md").write_text("Do the work.\n")
        make_files(root, files)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(PYTHON_SETTINGS)}
        env = {**inherited, "HOME": str(home), "PATH": f"{base / 'bin'}:{os.environ['PATH']}"}
        made = Stage(root, {name: value for name, value in env.items() if not name.startswith("XDG_")})
        for name in ("agent", "claude"):
            made.agent(name, STUB)
        yield made


def make_files(top: Path, files: int) -> None:
    """Write and commit files, twenty in a folder."""
    for number in range(files):
        folder = top / f"d{number // 2000}" / f"s{number // 20 % 100}"
        if number % 20 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}.txt").write_text(f"file {number}\n" * 20)
    (top / ".gitignore").write_text("*.log\n.env\nnode_modules/\n.ralph*\n")
    for words in (
        ["init", "-q"],
        ["config", "gc.auto", "0"],
        ["add", "-A"],
        ["commit", "-qm", "1"],
        ["repack", "-adq"],
    ):
        git(top, *words)
    time.sleep(1.1)  # git compares whole seconds; a tree made a second ago is slow for everyone
    git(top, "status")
