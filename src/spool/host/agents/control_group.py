"""A control group for an agent and its descendants, where this user may create one (Linux, cgroup v2).

The kernel kills a group as a whole, processes being forked included. A guard, a small shell outside the run's process
tree, kills the group once the runner and the supervisor are both gone, even if both are killed in the same instant.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

_PREFIX = "spool."
_GUARD = 'read -r _; echo 1 > "$1/cgroup.kill"; until rmdir "$1" || [ ! -d "$1" ]; do sleep 0.05; done'
"""Waits until nobody holds the other end of its standard input."""


class ControlGroup:
    """One run's group."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kills_before = 0

    def enter(self) -> None:
        """Move this process into the group."""
        self._write("cgroup.procs", "0")

    def limit_memory(self, limit: int) -> None:
        """Let the kernel kill the whole group when it uses more; without the memory controller, do nothing."""
        self._kills_before = self._kills()
        with suppress(OSError):
            self._write("memory.max", str(limit or "max"))
            self._write("memory.oom.group", "1")

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has killed the group for its memory since the limit was set."""
        return self._kills() > self._kills_before

    def kill(self) -> None:
        """Kill every process in the group."""
        with suppress(OSError):
            self._write("cgroup.kill", "1")

    def remove(self) -> None:
        """Remove the group, and groups that its processes made in it; a group with processes stays."""
        with suppress(OSError):
            for inner in self.path.iterdir():
                if inner.is_dir():
                    ControlGroup(inner).remove()
            self.path.rmdir()

    def guard(self) -> int:
        """Start the guard; return the descriptor that holds it back as long as any process has it open.

        Call it before this process becomes a subreaper, or the guard would be a descendant of the run.
        """
        waits, holds = os.pipe()
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            os.close(waits)
            return holds
        try:
            os.setsid()
            if not os.fork():
                devnull = os.open(os.devnull, os.O_WRONLY)
                os.dup2(waits, 0)
                os.dup2(devnull, 1)
                os.dup2(devnull, 2)
                os.closerange(3, 256)
                os.execv("/bin/sh", ["sh", "-c", _GUARD, "sh", str(self.path)])  # noqa: S606 - the shell is the point
        finally:
            os._exit(0)

    def _kills(self) -> int:
        with suppress(OSError, ValueError, IndexError):
            events = dict(line.split() for line in (self.path / "memory.events").read_text("ascii").splitlines())
            return int(events["oom_kill"])
        return 0

    def _write(self, name: str, text: str) -> None:
        descriptor = os.open(self.path / name, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode("ascii"))
        finally:
            os.close(descriptor)


def may_make_group() -> bool:
    """Whether this user may create a group here; nothing is created."""
    own = _own_group()
    return own is not None and os.access(own, os.W_OK) and os.access(own / "cgroup.procs", os.W_OK)


def make_group() -> ControlGroup | None:
    """Return a new group below this process's own; None where that is not allowed, or the kernel is too old."""
    own = _own_group()
    if own is None:
        return None
    from spool.host.runner.identity import start_time

    _remove_abandoned(own)
    group = ControlGroup(own / f"{_PREFIX}{_pids()}-{os.getpid()}-{start_time(os.getpid())}")
    with suppress(OSError):
        group.path.mkdir(mode=0o755)
        if os.access(group.path / "cgroup.kill", os.W_OK) and os.access(own / "cgroup.procs", os.W_OK):
            return group
        group.remove()
    return None


def _own_group() -> Path | None:
    """Return the folder of this process's group in the unified hierarchy."""
    if sys.platform != "linux":
        return None
    with suppress(OSError, IndexError, StopIteration):
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines()]
        mount = next(fields for fields in mounts if fields[fields.index("-") + 1] == "cgroup2")
        groups = Path("/proc/self/cgroup").read_text("utf-8", "replace").splitlines()
        own = next(line for line in groups if line.startswith("0::"))[3:]
        inside = os.path.relpath(own, mount[3])
        return None if inside.startswith("..") else Path(mount[4], inside)
    return None


def _pids() -> int:
    """Return what identifies this process's pid namespace: a run in another one has other pids, and looks gone."""
    return Path("/proc/self/ns/pid").stat().st_ino


def _remove_abandoned(own: Path) -> None:
    """Kill and remove the groups of runs of this pid namespace that are gone with their guard."""
    from spool.host.runner.identity import start_time

    prefix = f"{_PREFIX}{_pids()}-"
    for path in own.glob(f"{prefix}[0-9]*-[0-9]*"):
        pid, _, started = path.name.removeprefix(prefix).partition("-")
        if pid.isdigit() and start_time(int(pid)) != started:
            group = ControlGroup(path)
            group.kill()
            group.remove()
