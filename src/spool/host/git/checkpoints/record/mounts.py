"""Mount points below a folder: another file system is neither saved nor touched."""

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

_TABLE = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(rb"\\([0-7]{3})")


def mounts_below(folder: bytes) -> list[bytes]:
    """Return the mount points below a folder, as names inside it.

    The table is read because a bind mount of the same file system has the same device number. Without a table (macOS)
    the answer is empty.
    """
    start = os.path.realpath(folder).rstrip(b"/") + b"/"
    found = set()
    with suppress(OSError), _TABLE.open("rb") as table:
        for row in table:
            point = _ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), row.split(b" ", 5)[4])
            if point.startswith(start):
                found.add(point[len(start) :])
    return sorted(found)


def holds_mount(path: bytes) -> bool:
    """Whether a mount point is at or below a path."""
    folder, _, name = path.rstrip(b"/").rpartition(b"/")
    inside = name + b"/"
    return os.path.ismount(path) or any((point + b"/").startswith(inside) for point in mounts_below(folder))


def remove_folder(path: Path) -> None:
    """Remove a folder with all that is in it, unless something is mounted there."""
    if not holds_mount(os.fsencode(path)):
        shutil.rmtree(path, ignore_errors=True)
