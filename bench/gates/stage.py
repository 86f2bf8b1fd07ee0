"""Sets up one loop on disk: the project in a repository, a private home, and the scripted agent first on PATH."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.gates.behaviours import Loop

AGENT = Path(__file__).with_name("agent.py")
LOOPS_DIR = Path(
    os.environ.get("SPOOL_LOOPS_DIR")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spool-loops"
)
"""Where `make loops` puts the other loops, and the pytest of the projects."""
PYTHON = LOOPS_DIR / "pytest" / "bin" / "python"
TIMEOUT_S = 300
_AUTHOR = {"NAME": "Bench", "EMAIL": "bench@example.com"}


@dataclass(frozen=True)
class Stage:
    """Where one loop plays."""

    loop: Loop
    base: Path
    env: Mapping[str, str]

    @property
    def root(self) -> Path:
        return self.base / "project"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def tally(self) -> list[dict[str, Any]]:
        """What the agent noted, one entry per iteration."""
        path = self.base / "tally.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a loop to its end. Its output goes to a file, as some agents lose what they write to a pipe."""
        said = self.base / "said.txt"
        with said.open("w") as file:
            done = subprocess.run(
                words,
                cwd=self.root,
                env={**self.env, **env},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT_S,
                check=False,
            )
        return subprocess.CompletedProcess(words, done.returncode, said.read_text(errors="replace"))


def set_up(loop: Loop, base: Path, *, names: tuple[str, ...], claim: str) -> Stage:
    """Write the project, commit it, and put the agent on PATH under the names that the loop calls."""
    root, home, folder = base / "project", base / "home", base / "bin"
    for path in (root, home, folder):
        path.mkdir(parents=True)
    write_files(root, loop.project.files())
    env = {
        "PATH": os.pathsep.join([str(folder), str(PYTHON.parent), os.environ["PATH"]]),
        "HOME": str(home),
        "TMPDIR": str(base),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONDONTWRITEBYTECODE": "1",  # two edits within a second would otherwise run the same .pyc
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _AUTHOR.items()},
    }
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *words], cwd=root, env=env, check=True, capture_output=True)
    plan = {**asdict(loop.plan), "source": loop.project.source_path}
    (base / "plan.json").write_text(json.dumps(plan))
    command = shlex.join([str(PYTHON), "-I", str(AGENT), str(base / "plan.json"), str(base / "tally.jsonl"), claim])
    for name in names:
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    return Stage(loop, base, env)


def write_files(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
