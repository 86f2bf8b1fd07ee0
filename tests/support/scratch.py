"""What the tests share: a project in a scratch repository, the real command line, and fake agents on PATH."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.support import warm

_Found = TypeVar("_Found")
Steps = list[dict[str, Any]]
"""What the scripted agent does in one iteration."""
PATIENCE_S = 300
"""How long anything may take before it counts as hung; at a load of 48 a minute was not enough for `spool demo`."""
PYTHON = shlex.quote(sys.executable)
"""This Python in a command line: the clone may lie in a path with a space."""
CHANGE = "002-01_add-ralph-loop"
PROPOSAL = "# Add the ralph loop\n\nA loop that runs an agent until the work is done.\n"
TASKS = "## 1. Loop\n\n- [ ] 1.1 Write the loop\n- [ ] 1.2 Test the loop\n"


def python_program(source: str) -> str:
    """Return the text of a program in Python; the first line of a file can name no path with a space."""
    if sys.executable == PYTHON:
        return f"#!{sys.executable}\n{source}"
    return f"""#!/bin/sh\n'''exec' {PYTHON} "$0" "$@"\n' '''\n{source}"""


@dataclass
class Scratch:
    """A scratch project, and the machine around it."""

    root: Path
    home: Path
    bin: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def change(self) -> Path:
        return self.root / ".spool" / "changes" / CHANGE

    @property
    def state(self) -> Path:
        return self.root / ".spool" / ".state" / "ralph" / CHANGE

    def spool(self, *words: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """Run the real command line to its end."""
        return self._to_the_end(self.argv(*words), **kwargs)

    def wt_loop(self, *words: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """Run the real `wt-loop` to its end."""
        return self._to_the_end(self.wt_argv(*words), **kwargs)

    def _to_the_end(
        self, argv: list[str], timeout: float = PATIENCE_S, **kwargs: Any
    ) -> subprocess.CompletedProcess[str]:
        return warm.run(
            argv,
            stdin=kwargs.pop("stdin", subprocess.DEVNULL),
            cwd=kwargs.pop("cwd", self.root),
            env={**self.env, **kwargs.pop("env", {})},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=kwargs.pop("timeout", PATIENCE_S),
            **kwargs,
        )

    def start(self, *words: str, **kwargs: Any) -> subprocess.Popen[bytes]:
        """Start the real command line, or another one, and return at once."""
        return warm.Popen(
            kwargs.pop("argv", None) or self.argv(*words),
            cwd=kwargs.pop("cwd", self.root),
            env={**self.env, **kwargs.pop("env", {})},
            stdin=subprocess.DEVNULL,
            stdout=kwargs.pop("stdout", subprocess.DEVNULL),
            stderr=kwargs.pop("stderr", subprocess.DEVNULL),
            **kwargs,
        )

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "spool", *words]

    def wt_argv(self, *words: str) -> list[str]:
        return [sys.executable, "-c", warm.WT_LOOP, *words]

    def ralph(self, *words: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """Run `spool ralph` on the scratch change."""
        return self.spool("ralph", *words, "--change", CHANGE, **kwargs)

    def run(self, *words: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """Run `spool run` on the scratch change with the scripted agent."""
        return self.spool("run", CHANGE, "--harness", "scripted", *words, **kwargs)

    def run_events(self, *words: str, **kwargs: Any) -> list[dict[str, Any]]:
        """Run `spool run --json` and return its events."""
        done = self.run("--json", *words, **kwargs)
        return [json.loads(line) for line in done.stdout.splitlines()]

    @property
    def run_state(self) -> Path:
        return self.root / ".spool" / ".state" / "run" / CHANGE

    def agent(self, source: str, name: str = "opencode") -> Path:
        """Put a fake agent, a Python script, first on PATH."""
        path = self.bin / name
        path.write_text(python_program(source))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def script(self, *iterations: Steps) -> None:
        """Write the script that the `scripted` harness plays, where no revert can bring an old one back."""
        script, config = self.home / "script.json", self.home / ".config" / "spool" / "config.toml"
        script.write_text(json.dumps({"iteration": [{"steps": steps} for steps in iterations]}))
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f'[harnesses.scripted]\nscript = "{script}"\n')

    def trust(self) -> None:
        """Trust the settings of the project as they are."""
        done = self.spool("trust", "--grant")
        assert done.returncode == 0, done.stderr

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=self.env, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
        return done.stdout

    def history(self) -> list[dict[str, Any]]:
        return self._lines("history.jsonl")

    def journal(self) -> list[dict[str, Any]]:
        return self._lines("journal.jsonl")

    def _lines(self, name: str) -> list[dict[str, Any]]:
        """Return the lines of a growing file; the last may be written only in part."""
        lines = (self.state / name).read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def load_state(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.state / "state.json").read_text())
        return loaded

    def prompt(self, iteration: int) -> str:
        return (self.state / "logs" / f"{iteration:04d}.prompt.md").read_text()


def make_scratch(base: Path, *, git: bool = True) -> Scratch:
    """Make a project with one change, in a repository of its own, with nothing of the tester's around it."""
    root, home, folder = base / "project", base / "home", base / "bin"
    for path in (root, home, folder):
        path.mkdir()
    env = {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Test",
        "GIT_AUTHOR_EMAIL": "test@example.com",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@example.com",
        "SPOOL_ERROR_PAUSE": "0",
    }
    scratch = Scratch(root, home, folder, env)
    scratch.change.mkdir(parents=True)
    (scratch.change / "proposal.md").write_text(PROPOSAL)
    (scratch.change / "tasks.md").write_text(TASKS)
    if git:
        scratch.git("init", "--quiet", "--initial-branch=main")
        scratch.git("add", "--all")
        scratch.git("commit", "--quiet", "--message", "start")
    return scratch


def wait_for(
    condition: Callable[[], _Found], what: str | Callable[[], str] = "", patience_s: float = PATIENCE_S
) -> _Found:
    """Wait until a condition holds, and return what it found; a failure names what was awaited."""
    give_up_at, pause_s = time.monotonic() + patience_s, 0.005
    while not (found := condition()):
        if time.monotonic() > give_up_at:
            pytest.fail(f"waited {patience_s:g} s for {(what() if callable(what) else what) or source_of(condition)}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.05)  # many a look is a process of its own, and what is awaited needs the CPU too
    return found


def midday() -> str:
    """Return a time zone in which it is about noon, for a test that must not see a day end."""
    return f"NOON{datetime.now(UTC).hour - 12:+d}"


def source_of(condition: Callable[[], object]) -> str:
    """Return a condition as it is written in the test."""
    return inspect.getsource(condition).strip() if inspect.isfunction(condition) else repr(condition)
