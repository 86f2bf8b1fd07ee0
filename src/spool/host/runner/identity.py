"""Identifies runners by more than a pid, and checks whether a recorded one is alive."""

import os
from functools import cache
from pathlib import Path

from spool.domain.loop.summary import Runner


def this_runner() -> Runner:
    """Return the identity of this process."""
    pid = os.getpid()
    return Runner(pid=pid, start_time=start_time(pid) or "", boot_id=boot_id(), host=os.uname().nodename)


def is_alive(runner: Runner) -> bool:
    """Whether this exact process is still running: same boot, same start time, not a zombie."""
    if runner.pid <= 1 or runner.boot_id != boot_id() or not runner.start_time:
        return False
    return start_time(runner.pid) == runner.start_time


def start_time(pid: int) -> str | None:
    """Return a process's start time in the system's own units; None if it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _start_time_by_ps(pid)
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _start_time_by_ps(pid: int) -> str | None:
    """Return the start time from ps, without /proc; importing psutil for one value slows start-up."""
    import subprocess

    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False, timeout=5
    ).stdout.strip()
    return None if not answer or answer.startswith("Z") else answer.partition(" ")[2].strip()


@cache
def boot_id() -> str:
    """Return an identifier of the machine's current boot."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        import subprocess

        answer = subprocess.run(
            ["sysctl", "-n", "kern.boottime"], capture_output=True, text=True, check=False, timeout=5
        )
        return answer.stdout.strip() or "unknown"
