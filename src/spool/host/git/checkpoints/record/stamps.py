"""Time stamps: whether one proves that a file has not changed since.

Git compares whole seconds, and trusts a file whose own time is older than its index. A rewrite that keeps size and
mtime (`cp -p`, `rsync -t`, `tar x`, `touch -r`) in the second of a checkpoint is invisible to it.
"""

import os
import time
from pathlib import Path

from spool.nofollow import open_file

_SECOND_NS = 1_000_000_000
_COARSE_NS = 2 * _SECOND_NS
"""FAT keeps every other second, HFS+ and old ext3 every second."""
_TICK_NS = 20_000_000
"""With nanoseconds in its stamps, the kernel's clock has ticks of up to 10 ms."""

Stamp = tuple[int, ...]
"""A file's status; empty where no status could prove anything."""


def clock_ns(folder: Path) -> int:
    """Return the time by the clock that stamps files: a file server's may be behind ours."""
    descriptor = open_file(folder / "clock", os.O_WRONLY | os.O_CREAT)
    try:
        os.utime(descriptor)
        return min(os.fstat(descriptor).st_mtime_ns, time.time_ns())
    finally:
        os.close(descriptor)


def is_past(changed_ns: int, now_ns: int) -> bool:
    """Whether a change after `now_ns` would leave a later time stamp than this one."""
    return changed_ns < now_ns - (_TICK_NS if changed_ns % _SECOND_NS else _COARSE_NS)


def recent_of(found: dict[bytes, os.stat_result], now_ns: int) -> dict[bytes, Stamp]:
    """Return the files in which git could miss another change."""
    return {
        name: stamp_of(entry) if is_past(entry.st_ctime_ns, now_ns) else ()
        for name, entry in found.items()
        if entry.st_ctime_ns >= now_ns - _COARSE_NS
    }


def suspects(recent: dict[bytes, Stamp], found: dict[bytes, os.stat_result]) -> list[bytes]:
    """Return the recent files that must be read: their status differs, or proves nothing."""
    return [name for name, stamp in recent.items() if name in found and stamp_of(found[name]) != stamp]


def stamp_of(entry: os.stat_result) -> Stamp:
    """Return what of a status differs after any change."""
    return (entry.st_mtime_ns, entry.st_ctime_ns, entry.st_size, entry.st_ino)
