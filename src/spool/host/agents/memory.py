"""Measures the memory of a process tree."""

import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from spool.host.agents.control_group import ControlGroup
from spool.host.agents.sweep import descendants

_EVERY_S = 0.25


class MemoryMeter:
    """Compares the memory of all descendants of a process with a limit, at most four times a second."""

    def __init__(self, root: int, limit: int, group: ControlGroup | None) -> None:
        self._root = root
        self._limit = limit
        self._group = group
        self._next_at = 0.0
        self._over = False

    @property
    def over(self) -> bool:
        """Whether the limit was ever exceeded; a limit of 0 never is."""
        if not self._limit or self._over:
            return self._over
        if self._group is not None and self._group.ran_out_of_memory():
            self._over = True
        elif time.monotonic() >= self._next_at:
            self._over = _uses_more_than(self._limit, descendants(self._root))
            self._next_at = time.monotonic() + _EVERY_S
        return self._over


def _uses_more_than(limit: int, pids: Iterable[int]) -> bool:
    """Whether processes together use more: by resident memory first, which is quick but counts shared pages twice."""
    pids = tuple(pids)
    return sum(map(_resident, pids)) > limit and sum(map(_proportional, pids)) > limit


def _resident(pid: int) -> int:
    if sys.platform != "linux":
        return _resident_by_psutil(pid)
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _proportional(pid: int) -> int:
    """Return the memory of a process with shared pages divided among their users; resident memory if unknown."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines()
        return int(next(line for line in lines if line.startswith(b"Pss:")).split()[1]) << 10
    return _resident(pid)


def _resident_by_psutil(pid: int) -> int:
    import psutil

    with suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return 0
