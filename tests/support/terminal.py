"""A real terminal for the tests: tmux on a server of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support import PATIENCE_S, Scratch, source_of, wait_for


class Terminal:
    """One pane, in which a shell runs."""

    def __init__(self, scratch: Scratch, server: str) -> None:
        self._scratch = scratch
        self._server = server

    def tmux(self, *words: str) -> str:
        argv = ["tmux", "-L", self._server, "-f", os.devnull, *words]
        done = subprocess.run(
            argv, env=self._scratch.env, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
        return done.stdout

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "spool", *keys)

    def type(self, *words: str) -> None:
        """Type a command line and press Enter."""
        self.tmux("send-keys", "-t", "spool", "-l", shlex.join(words))
        self.keys("Enter")

    def text(self, *words: str) -> str:
        return self.tmux("capture-pane", "-p", "-t", "spool", *words)

    def flag(self, name: str) -> str:
        return self.tmux("display-message", "-p", "-t", "spool", f"#{{{name}}}").strip()

    def until(self, holds: Callable[[], Any], what: str = "", *, within_s: float = PATIENCE_S) -> None:
        wait_for(holds, lambda: f"{what or source_of(holds)}; on the terminal:\n{self.text()}", within_s)

    def until_shown(self, *parts: str) -> None:
        def shown() -> bool:
            text = self.text()
            return all(part in text for part in parts)

        self.until(shown, f"{parts} to be shown together")

    def spool(self, *words: str) -> None:
        self.type(sys.executable, "-m", "spool", *words)

    def screen_pid(self) -> int:
        """Return the process that draws the screen."""
        shell = self.flag("pane_pid")
        return int(subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True, check=True).stdout.split()[0])


@contextmanager
def terminal(scratch: Scratch, *, width: int = 100, height: int = 30, **env: str) -> Iterator[Terminal]:
    """Open a terminal in the scratch project."""
    opened = Terminal(scratch, f"spool-test-{os.getpid()}-{time.monotonic_ns()}")
    scratch.env.update(env)
    scratch.env["PS1"] = "$ "
    size = ("-x", str(width), "-y", str(height))
    # Two words: tmux hands a single one to the login shell, and a login shell that forks would be the pane's process.
    opened.tmux("new-session", "-d", "-s", "spool", *size, "-c", str(scratch.root), "sh", "-i")
    try:
        yield opened
    finally:
        opened.tmux("kill-server")
