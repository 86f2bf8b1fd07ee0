"""What the tests of `wt-loop` share: a repository with worktrees, loops in them, and a screen to open windows on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import PATIENCE_S, Scratch, wait_for

TASKS = "## 1. Login\n\n- [ ] 1.1 Write the form\n- [ ] 1.2 Test the form\n"
WORKING: list[dict[str, Any]] = [{"say": "Working hard"}, {"sleep": 600}]
SCREEN = "1280x800"


@dataclass
class Fleet:
    """A scratch repository whose changes have worktrees."""

    scratch: Scratch

    @property
    def env(self) -> dict[str, str]:
        return self.scratch.env

    def worktree(self, change: str = "add-auth", *, tasks: str | None = TASKS, name: str | None = None) -> Worktree:
        """Make a real git worktree with a change in it."""
        path = self.scratch.root.parent / (name or f"project-wt-{change}")
        self.scratch.git("worktree", "add", "--quiet", "-b", f"change/{change}", str(path))
        made = Worktree(self, change, path)
        if tasks is not None:
            made.folder.mkdir(parents=True)
            (made.folder / "proposal.md").write_text(f"# {change}\n\nPeople can log in.\n")
            made.tasks.write_text(tasks)
            made.git("add", "--all")
            made.git("commit", "--quiet", "--message", "plan")
        return made

    def wt(self, *words: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """Run the real `wt-loop` to its end."""
        return self.scratch.wt_loop(*words, **kwargs)

    def rows(self, *words: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.wt("list", "--json", *words).stdout)
        return found


@dataclass
class Worktree:
    """One worktree, and the loop in it."""

    fleet: Fleet
    change: str
    path: Path

    @property
    def folder(self) -> Path:
        return self.path / "openspec" / "changes" / self.change

    @property
    def tasks(self) -> Path:
        return self.folder / "tasks.md"

    @property
    def log(self) -> Path:
        return self.path / ".claude" / "ralph-loop.log"

    @property
    def raw_logs(self) -> Path:
        return self.path / ".spool" / ".state" / "wt-loop" / self.change / "logs"

    def script(self, *iterations: list[dict[str, Any]]) -> None:
        """Write what the scripted agent does; outside the tree, so that it is no change."""
        path = self.fleet.scratch.home / f"{self.change}.json"
        path.write_text(json.dumps({"iteration": [{"steps": steps} for steps in iterations]}))
        config = self.path / ".spool" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        config.write_text(f"[harnesses.scripted]\nscript = {json.dumps(str(path))}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "script")

    def start(self, *words: str, task: str = "Implement the login form", terminal: str = "none") -> str:
        """Start a loop with the scripted agent and return what was said."""
        done = self.fleet.wt("start", self.change, task, "--harness", "scripted", "--terminal", terminal, *words)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def run(self, *words: str, **kwargs: Any) -> dict[str, Any]:
        """Start a loop, wait for its end, and return its file."""
        self.start(*words, **kwargs)
        wait_for(lambda: self.status_now() != "running", f"the end of the loop of {self.change}")
        return self.state()

    def status_now(self) -> str:
        """Return the loop's status; an agent that cleans the tree may have taken its file for a moment."""
        with suppress(FileNotFoundError):
            return str(self.state()["status"])
        return "running"

    def state(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.path / ".claude" / "loop-state.json").read_text())
        return loaded

    def pid_file(self) -> int:
        return int((self.path / ".claude" / "ralph-terminal.pid").read_text())

    def is_working(self, iteration: int = 1) -> bool:
        log = self.raw_logs / f"{iteration:04d}.out"
        return log.exists() and b"Working" in log.read_bytes()

    def wait_until_working(self, iteration: int = 1) -> None:
        wait_for(lambda: self.is_working(iteration), f"the agent of {self.change} in iteration {iteration}")

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", *words],
            cwd=self.path,
            env=self.fleet.env,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        ).stdout

    def status(self) -> str:
        return self.git("status", "--short", "--untracked-files=all")


@contextmanager
def fleet_of(scratch: Scratch) -> Iterator[Fleet]:
    """Give a fleet, and stop everything in the end."""
    fleet = Fleet(scratch)
    scratch.env["XDG_STATE_HOME"] = str(scratch.home / "state")
    scratch.env["SPOOL_TRUSTED_PATHS"] = str(scratch.root.parent)  # a worktree's script is in its own settings
    try:
        yield fleet
    finally:
        scratch.spool("stop", "--all-projects")


def is_gone(pid: int) -> bool:
    """Whether there is no such process, or only its zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def processes_of(run_ids: set[str]) -> list[int]:
    """Return the processes that carry one of these runs in their environment, or in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                if any(run_id.encode() in text for run_id in run_ids) and not is_gone(int(entry.name)):
                    found.append(int(entry.name))
    return found


@dataclass
class Display:
    """An X server without a screen, with a window manager on it."""

    name: str

    def window_of(self, pid: int) -> str:
        """Return the window that belongs to a process, once it is there."""
        found: list[str] = []

        def there() -> bool:
            found[:] = self._ask("xdotool", "search", "--onlyvisible", "--pid", str(pid)).split()
            return bool(found)

        wait_for(there)
        return found[-1]

    def property(self, window: str, name: str) -> str:
        return self._ask("xprop", "-id", window, name).strip()

    def size(self, window: str) -> str:
        told = self._ask("xdotool", "getwindowgeometry", "--shell", window)
        fields = dict(line.split("=") for line in told.split())
        return f"{fields['WIDTH']}x{fields['HEIGHT']}"

    def close(self, window: str) -> None:
        """Close a window as a person does, with the window manager's key; one that comes before the focus is lost."""

        def gone() -> bool:
            self._ask("xdotool", "windowactivate", "--sync", window)
            self._ask("xdotool", "key", "alt+F4")
            return " = " not in self.property(window, "WM_NAME")

        wait_for(gone)

    def _ask(self, *words: str) -> str:
        done = subprocess.run(
            words,
            env={**os.environ, "DISPLAY": self.name},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        return done.stdout


def missing_programs(*names: str) -> list[str]:
    """Return which of these programs are not installed."""
    return [name for name in names if shutil.which(name) is None]


@contextmanager
def display(home: Path) -> Iterator[Display]:
    """Run an X server and a window manager while the context lasts.

    Without -noreset the server starts anew when its last client leaves, and an `xprop` that comes and goes before the
    window manager takes it down.
    """
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{SCREEN}x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writing)
    try:
        with os.fdopen(reading) as pipe:
            name = f":{pipe.readline().strip()}"
        environment = {**os.environ, "DISPLAY": name, "HOME": str(home)}
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        manager = subprocess.Popen(["openbox"], env=environment, **quiet)
        try:
            there = ["xprop", "-root", "_NET_SUPPORTING_WM_CHECK"]
            wait_for(lambda: b"window id" in subprocess.run(there, env=environment, capture_output=True).stdout)
            yield Display(name)
        finally:
            manager.terminate()
            manager.wait(timeout=PATIENCE_S)
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE_S)
