"""The four ways to start a loop, as the tests that kill runners need them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tests.support import CHANGE, Scratch, wait_for
from tests.support.machine import Warm, children, marked
from tests.support.worktrees import Fleet

TICK_ALL = "sed -i 's/- \\[ \\]/- [x]/' {tasks}"
"""What an agent does to finish the tasks of a change."""


class Door(Protocol):
    """Starts the same loop again and again."""

    folder: Path
    """The loop's state folder."""
    tasks: Path

    @abstractmethod
    def start(self) -> tuple[int, int]:
        """Start the loop; return the pid of the command, and of the runner, which may be another process."""
        ...


class Ralph:
    """`spool ralph`, in the foreground."""

    def __init__(self, scratch: Scratch, warm: Warm) -> None:
        self.folder, self.tasks = scratch.state, scratch.change / "tasks.md"
        self._warm = warm

    def start(self) -> tuple[int, int]:
        pid = self._warm.ralph("Work", "--no-max-iterations", "--stall", "0")
        return pid, pid


class Run:
    """`spool run`, in the foreground."""

    def __init__(self, scratch: Scratch, warm: Warm) -> None:
        self.folder, self.tasks = scratch.run_state, scratch.change / "tasks.md"
        self._warm = warm

    def start(self) -> tuple[int, int]:
        pid = self._warm.start("spool", "run", CHANGE, "--max-retries", "1000000")
        return pid, pid


class Detached:
    """`spool ralph --detach`, which the screen's launcher shares."""

    def __init__(self, scratch: Scratch, warm: Warm) -> None:
        self.folder, self.tasks = scratch.state, scratch.change / "tasks.md"
        self._scratch, self._warm = scratch, warm

    def start(self) -> tuple[int, int]:
        there = set(background(self._scratch))
        command = self._warm.ralph("Work", "--no-max-iterations", "--stall", "0", "--detach")
        return command, launched(self._scratch, self._warm, command, there)


class Worktree:
    """`wt-loop start` without a window; `wt-loop resume` once there is a loop, as a start would begin a new one."""

    def __init__(self, scratch: Scratch, warm: Warm) -> None:
        tree = Fleet(scratch).worktree("add-auth")
        self.folder, self.tasks = tree.path / ".spool/.state/wt-loop/add-auth", tree.tasks
        self._scratch, self._warm = scratch, warm

    def start(self) -> tuple[int, int]:
        there = set(background(self._scratch))
        how = ("resume", "add-auth") if (self.folder / "state.json").exists() else ("start", "add-auth", "Work")
        words = ("--harness", "opencode", "--terminal", "none", "--max", "1000000", "--stall", "0")
        command = self._warm.start("wt-loop", *how, *words)
        return command, launched(self._scratch, self._warm, command, there)


DOORS: dict[str, Callable[[Scratch, Warm], Door]] = {
    "ralph": Ralph,
    "run": Run,
    "detach": Detached,
    "wt-loop": Worktree,
}


def background(scratch: Scratch) -> list[int]:
    """Return the runners in the background, and the supervisors of those that are gone."""
    candidates = [pid for pid, words in marked(scratch).items() if "spool.cli.child" in words]
    forks = {child for pid in candidates for child in children(pid)}
    return [pid for pid in candidates if pid not in forks]


def launched(scratch: Scratch, warm: Warm, command: int, there: set[int]) -> int:
    """Wait for the runner that a command starts in the background; return its pid."""
    found: list[int] = []

    def look() -> bool:
        found[:] = [pid for pid in background(scratch) if pid not in there]
        return bool(found) or warm.ended(command)

    wait_for(look, "the runner in the background")
    assert found, warm.errors()
    return found[0]
