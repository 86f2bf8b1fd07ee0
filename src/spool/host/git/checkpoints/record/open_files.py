"""Files that are being written right now: Spool's own redirected output, a pipe's `tee`, a dev server's log.

To replace such a file leaves its writer with one that nobody sees. An agent's processes are gone before the tree is
saved or reverted, so whoever writes is somebody else.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROCESSES = Path("/proc")
_OWN = (b".git/", b".spool/.state/")
_WRITES = os.O_WRONLY | os.O_RDWR
_GET_PATH = getattr(fcntl, "F_GETPATH", 0)
_PATH_BYTES = 1024


def written_below(top: bytes) -> frozenset[bytes]:
    """Return the files below a folder that a process of this user holds open for writing, as names inside it."""
    start = os.path.realpath(top).rstrip(b"/") + b"/"
    paths = _from_processes(start) if _PROCESSES.is_dir() else _own_output()
    names = (path[len(start) :] for path in paths if path.startswith(start))
    return frozenset(name for name in names if not any(b"/" + own in b"/" + name for own in _OWN))


def _from_processes(start: bytes) -> Iterator[bytes]:
    """Yield what each process has open; the flags are read only of what is in the folder."""
    user = os.geteuid()
    with os.scandir(_PROCESSES) as processes:
        for process in processes:
            with suppress(OSError):  # it ended, or is not ours to look at
                if process.name.isdigit() and process.stat().st_uid == user:
                    yield from _open_in(process.path.encode(), start)


def _open_in(process: bytes, start: bytes) -> Iterator[bytes]:
    with os.scandir(process + b"/fd") as descriptors:
        for one in descriptors:
            with suppress(OSError):
                path = os.readlink(one.path)  # noqa: PTH115 - bytes, and thousands of them
                if path.startswith(start) and _is_written(process + b"/fdinfo/" + one.name):
                    yield path


def _is_written(about: bytes) -> bool:
    lines = Path(os.fsdecode(about)).read_bytes().splitlines()
    return any(int(line.split()[1], 8) & _WRITES for line in lines if line.startswith(b"flags:"))


def _own_output() -> Iterator[bytes]:
    """Yield the paths of standard output and error, for macOS, which lists no processes."""
    for stream in (sys.__stdout__, sys.__stderr__):
        with suppress(OSError, ValueError, AttributeError):
            if _GET_PATH and stream is not None:
                yield fcntl.fcntl(stream.fileno(), _GET_PATH, bytes(_PATH_BYTES)).rstrip(b"\0")
