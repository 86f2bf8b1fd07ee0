"""Judges each loop by the reference tests, and counts."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.gates.behaviours import Loop
from bench.gates.projects import Project
from bench.gates.stage import PYTHON, set_up, write_files
from bench.gates.tools import Tool


@dataclass(frozen=True)
class Measured:
    """One loop with one tool."""

    tool: str
    number: int
    """Of the loop, among those that the seed generates."""
    done: bool
    right: bool
    """Whether the reference tests pass on what the loop left."""
    iterations: int
    after_right: int
    """Iterations after the work was right."""
    unchanged: int
    """Iterations before that which changed no file of the project."""
    wall_s: float
    gate_s: float
    verdict: str

    @property
    def false_accept(self) -> bool:
        return self.done and not self.right

    @property
    def false_stop(self) -> bool:
        return self.right and not self.done


class Reference:
    """Runs the reference tests on a source, in a folder of their own; remembers the answers."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], bool] = {}

    def right(self, project: Project, source: str) -> bool:
        key = (id(project), source)
        if key not in self._known:
            self._known[key] = self._judge(project, source)
        return self._known[key]

    def _judge(self, project: Project, source: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), project.reference(source))
            words = shlex.split(project.check)
            program = str(PYTHON) if words[0] == "python" else words[0]
            env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run([program, *words[1:]], cwd=folder, env=env, capture_output=True, check=False)
            return done.returncode == 0


def measure(tool: Tool, number: int, loop: Loop, base: Path, reference: Reference) -> Measured:
    """Play one loop and judge it."""
    stage = set_up(loop, base, names=tool.names, claim=tool.claim)
    began = time.perf_counter()
    ended = tool.play(stage)
    wall_s = time.perf_counter() - began
    rights = [reference.right(loop.project, entry["source"]) for entry in stage.tally]
    first = rights.index(True) + 1 if True in rights else len(rights)
    left = stage.root / loop.project.source_path
    found = Measured(
        tool=tool.name,
        number=number,
        done=ended.done,
        right=reference.right(loop.project, left.read_text() if left.exists() else ""),
        iterations=len(rights),
        after_right=len(rights) - first,
        unchanged=sum(not entry["changed"] for entry in stage.tally[:first]),
        wall_s=wall_s,
        gate_s=ended.gate_s,
        verdict=ended.verdict,
    )
    if not rights:
        raise RuntimeError(f"{tool.name} never ran the agent:\n{ended.said[-2_000:]}")
    shutil.rmtree(base, ignore_errors=True)
    return found
