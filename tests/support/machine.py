"""What the fault tests need of the machine: processes by their marks, patience, terminals, runners."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for

PROMISE = "<promise>COMPLETE</promise>"
TOOLS = f"""
import os, pathlib, signal, subprocess, sys, time

here = pathlib.Path(os.environ["HOME"])
iteration = int(os.environ["SPOOL_ITERATION"])
PROMISE = "{PROMISE}"


def tell(name, text=""):
    (here / (name + ".tmp")).write_text(str(text))
    (here / (name + ".tmp")).rename(here / name)


def wait_for(name):
    until = time.monotonic() + 120
    while not (here / name).exists() and time.monotonic() < until:
        time.sleep(0.01)


def say(text, stream=1):
    data = text if isinstance(text, bytes) else text.encode()
    while data:
        data = data[os.write(stream, data):]
"""


def fake_agent(scratch: Scratch, source: str, name: str = "opencode") -> None:
    """Put an agent on PATH that has a few words to talk with the test: tell, wait_for, say."""
    scratch.agent(TOOLS + source, name)


def shell_agent(scratch: Scratch, source: str, name: str = "opencode") -> None:
    """Put an agent on PATH that starts in a millisecond, where Python takes twenty."""
    path = scratch.bin / name
    path.write_text(f"#!/bin/sh\n{source}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def release(scratch: Scratch, name: str) -> None:
    """Let an agent that waits for this word go on."""
    (scratch.home / name).touch()


def told(scratch: Scratch, name: str) -> str:
    """Wait until an agent has told this word; return what it said."""
    path = scratch.home / name
    wait_for(path.exists, f"the agent to tell '{name}'")
    return path.read_text()


def environments() -> Iterator[tuple[int, bytes]]:
    """Give each live process with the environment that it was started with; zombies have none."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                yield int(entry.name), (entry / "environ").read_bytes()


def marked(scratch: Scratch) -> dict[int, str]:
    """Return every process that belongs to this scratch project: runners, supervisors, git, agents."""
    mark = b"HOME=" + os.fsencode(scratch.home) + b"\0"
    return {pid: command_line(pid) for pid, environment in environments() if mark in environment}


def agents(scratch: Scratch) -> dict[int, str]:
    """Return every process of this scratch project that an agent is, or has started."""
    mark = b"HOME=" + os.fsencode(scratch.home) + b"\0"
    return {
        pid: command_line(pid)
        for pid, environment in environments()
        if mark in environment and b"SPOOL_RUN_ID=" in environment
    }


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:200]
    except OSError:
        return ""


def nobody_left(scratch: Scratch, timeout_s: float = 10) -> None:
    """Wait until no agent, and nothing that one started, is alive."""
    wait_for(lambda: not agents(scratch), lambda: f"the end of {agents(scratch)}", timeout_s)


def end(pid: int, signum: int = signal.SIGKILL) -> None:
    """Signal one process by its id; gone is fine."""
    with suppress(ProcessLookupError):
        os.kill(pid, signum)


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def process_state(pid: int) -> str:
    """Return the letter by which the kernel tells what a process does: T is stopped."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == pid and fields[0] not in "ZX":
                    found.append(int(entry.name))
    return found


def supervisor_of(runner: int) -> int:
    """Return the supervisor of a runner: the child that is a fork of it, with the same command line."""
    mine = command_line(runner)
    return next(child for child in children(runner) if command_line(child) == mine)


def peak_kib(pid: int) -> int:
    """Return the most memory that a process has ever had resident."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


@contextmanager
def running(
    scratch: Scratch, *words: str, argv: list[str] | None = None, **kwargs: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `spool ralph`, or another command line, beside the test; it does not outlive the block."""
    process = scratch.start("ralph", *words, "--change", CHANGE, argv=argv, **kwargs)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_S)


class Warm:
    """Starts runners, forked from a warm interpreter, that do not outlive the test."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._started: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._started.values():
            process.kill()
            process.wait(PATIENCE_S)

    def ralph(self, *words: str, name: str = "run", change: str = CHANGE) -> int:
        """Start `spool ralph` on the scratch change; return its pid. What it prints is kept under the given name."""
        return self.start("spool", "ralph", *words, "--change", change, name=name)

    def start(self, program: str, *words: str, name: str = "run") -> int:
        """Start `spool` or `wt-loop`; return its pid. What it prints is kept under the given name."""
        argv = (self._scratch.argv if program == "spool" else self._scratch.wt_argv)(*words)
        home = self._scratch.home
        with (home / f"{name}.out").open("wb") as output, (home / f"{name}.err").open("wb") as errors:
            process = self._scratch.start(argv=argv, stdout=output, stderr=errors)
        self._started[process.pid] = process
        return process.pid

    def ended(self, pid: int) -> bool:
        """Whether a runner is over, though nobody has waited for it yet."""
        return not runs(pid)

    def wait(self, pid: int) -> int:
        """Return the exit code of a runner, negative for a signal."""
        return self._started.pop(pid).wait(PATIENCE_S)

    def output(self, name: str = "run") -> str:
        return self._kept(f"{name}.out")

    def errors(self, name: str = "run") -> str:
        return self._kept(f"{name}.err")

    def _kept(self, name: str) -> str:
        path = self._scratch.home / name
        return path.read_text(errors="replace") if path.exists() else ""


class Terminal:
    """A real terminal with a command in its foreground; keeps all that was written to it."""

    def __init__(self, argv: list[str], *, directory: Path, env: dict[str, str]) -> None:
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe(argv[0], argv, env)
        self.seen = b""
        self._exit_code: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._exit_code is None:
            end(self.pid)
            self.wait()
        self.hang_up()

    def read(self) -> bytes:
        """Take what was written since; return all that was ever written."""
        while self._master >= 0 and select.select([self._master], [], [], 0)[0]:
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:  # nobody has the other end any more
                break
            if not data:
                break
            self.seen += data
        return self.seen

    def press(self, key: bytes) -> None:
        """Type a key: b"\\x03" is Ctrl-C, b"\\x1a" is Ctrl-Z."""
        os.write(self._master, key)

    def hang_up(self) -> None:
        """Close the terminal."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def wait(self) -> int:
        """Return the exit code of the command, negative for a signal."""
        until = time.monotonic() + PATIENCE_S
        while self._exit_code is None:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._exit_code = os.waitstatus_to_exitcode(status)
                self.read()
            elif time.monotonic() > until:
                pytest.fail(f"waited {PATIENCE_S} s for the command; it wrote {self.seen[-2_000:]!r}")
            else:
                time.sleep(0.005)
        return self._exit_code


def terminal(scratch: Scratch, *words: str) -> Terminal:
    """Run `spool ralph` in a terminal."""
    return Terminal(scratch.argv("ralph", *words, "--change", CHANGE), directory=scratch.root, env=scratch.env)


def without_control_groups(argv: list[str]) -> list[str]:
    """Return a command line that runs another where no control group can be made; only root can do that."""
    hide = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
    return [need("unshare"), "--mount", "sh", "-c", hide, "sh", *argv]


def need(program: str) -> str:
    """Return the path of a tool, or skip the test and say why."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path
