"""Finds and ends every descendant of a process, even one that has detached itself.

A process group is not enough: a child that forks twice and starts a session leaves it. If the ancestor is a child
subreaper, such orphans become its children, so a walk down from there misses none.
"""

import ctypes
import os
import signal
import sys
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from spool.host.agents.control_group import ControlGroup

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True) if _LINUX else None

_BUBBLEWRAP = "bwrap"

POLITE_S = 0.3
"""Seconds between SIGTERM and SIGKILL for an agent's leftovers. The agent itself has already been stopped."""
GIVE_UP_S = 1.0
"""Seconds after the first SIGKILL. A survivor runs as another user, by sudo for example, or hangs in the kernel."""


def become_subreaper() -> None:
    """Make orphaned descendants of this process its children."""
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def signal_me_when_parent_dies(signum: int) -> None:
    """Let the kernel send this process a signal when the thread that created it ends."""
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0)


class _Process(NamedTuple):
    pid: int
    group: int
    started: str


def descendants(root: int) -> dict[int, str]:
    """Return the pids of a process's descendants, each with its start time."""
    if not _LINUX:
        return _descendants_by_psutil(root)
    return {process.pid: process.started for process in _below(root)}


def _below(root: int) -> list[_Process]:
    children: defaultdict[int, list[_Process]] = defaultdict(list)
    for entry in os.listdir("/proc"):  # noqa: PTH208 - one scan per sweep, and Path.iterdir is three times slower
        if entry.isdigit():
            with suppress(OSError, IndexError):
                fields = Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()
                children[int(fields[1])].append(_Process(int(entry), int(fields[2]), fields[19].decode()))
    found: list[_Process] = []
    queue = [root]
    while queue:
        below = children.pop(queue.pop(), [])
        found += below
        queue += [process.pid for process in below]
    return found


def inside_sandbox(pid: int) -> int:
    """Return the process that a sandbox was made for, past bubblewrap's own two."""
    below = _below(pid)
    inner = next((process.pid for process in below if _name(process.pid) != _BUBBLEWRAP), pid)
    return inner if _name(pid) == _BUBBLEWRAP else pid


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    return ""


def signal_descendants(root: int, *signals: int) -> None:
    """Send signals to every descendant."""
    for pid, started in descendants(root).items():
        for signum in signals:
            signal_exactly(pid, started, signum)


def signal_exactly(pid: int, started: str, signum: int) -> bool:
    """Signal a process if its start time still matches; a pid alone may have been reused."""
    from spool.host.runner.identity import start_time

    if not _LINUX:
        if start_time(pid) != started:
            return False
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)
        return True
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if start_time(pid) != started:
            return False
        signal.pidfd_send_signal(handle, signum)
        return True
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(handle)


def end_descendants(root: int, group: ControlGroup | None = None) -> tuple[int, ...]:
    """End every descendant: SIGTERM and SIGCONT, then SIGKILL after 0.3 s, repeated for up to 1 s.

    Return those that cannot be killed. With a control group, the kernel kills all of it at once.
    """
    if not _reap():
        return ()
    polite_until = time.monotonic() + POLITE_S
    signal_descendants(root, signal.SIGTERM, signal.SIGCONT)
    while _reap() and time.monotonic() < polite_until:
        time.sleep(0.005)
    give_up_at = time.monotonic() + GIVE_UP_S
    while _reap():
        if group is not None:
            group.kill()
        _kill_groups(root)
        signal_descendants(root, signal.SIGKILL)
        if time.monotonic() > give_up_at:
            return tuple(descendants(root))
        time.sleep(0.005)
    return ()


def _kill_groups(root: int) -> None:
    """Kill the process groups of all descendants.

    A chain of forks outruns a scan of /proc: each process is gone before its signal arrives. The kernel signals a whole
    group at once, children being forked included. An agent runs in a session of its own, so no group in it is foreign.
    """
    if not _LINUX:
        return
    groups = {process.group: process for process in _below(root) if process.group not in (0, os.getpgrp())}
    for group, member in groups.items():
        if signal_exactly(member.pid, member.started, 0):  # the group still has this member, so its id is not reused
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)


def _reap() -> bool:
    """Reap ended children; return whether any are left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _descendants_by_psutil(root: int) -> dict[int, str]:
    import psutil

    from spool.host.runner.identity import start_time

    with suppress(psutil.Error):
        below = psutil.Process(root).children(recursive=True)
        return {child.pid: start_time(child.pid) or "" for child in below}
    return {}
