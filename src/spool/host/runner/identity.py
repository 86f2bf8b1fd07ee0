"""Tells this process, and whether a recorded one still lives, by more than a pid."""

import os
from functools import cache
from pathlib import Path

from spool.domain.loop import Runner


def this_runner() -> Runner:
    """Return the identity of this process."""
    pid = os.getpid()
    return Runner(pid=pid, start_time=start_time(pid) or "", boot_id=boot_id(), host=os.uname().nodename)


def is_alive(runner: Runner) -> bool:
    """Whether that very process still runs here: same boot, same start, and no zombie."""
    if runner.pid <= 1 or runner.boot_id != boot_id() or not runner.start_time:
        return False
    return start_time(runner.pid) == runner.start_time


def start_time(pid: int) -> str | None:
    """Return when a process started, in the system's own units; None if there is none, or only its zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _start_time_by_ps(pid)
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _start_time_by_ps(pid: int) -> str | None:
    """Ask ps where there is no /proc; psutil would do, but costs start-up for one figure."""
    import subprocess

    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False, timeout=5
    ).stdout.strip()
    return None if not answer or answer.startswith("Z") else answer.partition(" ")[2].strip()


@cache
def boot_id() -> str:
    """Return what tells one boot of this machine from another."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        import subprocess

        answer = subprocess.run(
            ["sysctl", "-n", "kern.boottime"], capture_output=True, text=True, check=False, timeout=5
        )
        return answer.stdout.strip() or "unknown"
