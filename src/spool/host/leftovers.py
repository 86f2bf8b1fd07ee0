"""Finds what killed runs leave behind: locks that name the dead, processes without a run, and state without an end."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.decoders import decoded
from spool.host.runner.identity import is_alive
from spool.host.state.lock import Holder
from spool.nofollow import open_file, read_file

_RUN_ID = b"SPOOL_RUN_ID="


class Orphan(msgspec.Struct, frozen=True, kw_only=True):
    """A process that a run started, whose runner is gone."""

    pid: int
    run_id: str
    command: str


def stale_locks(folder: Path) -> list[Path]:
    """Return the locks that name a runner which is dead; nobody holds them, they only mislead."""
    return [path for path in sorted(folder.glob("*.lock")) if _names_dead(path)]


def clear_lock(path: Path) -> bool:
    """Empty a lock, unless somebody has taken it meanwhile; return whether it is empty."""
    descriptor = open_file(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _names_dead(path: Path) -> bool:
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        holder = decoded(read_file(path), Holder)
        return not is_alive(holder.runner)
    return False


def orphans(ended: set[str]) -> list[Orphan]:
    """Return the processes of this user that were started by runs which have ended (Linux)."""
    return sorted(_orphans(ended), key=lambda one: one.pid)


def _orphans(ended: set[str]) -> Iterator[Orphan]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            if folder.stat().st_uid != os.geteuid() or int(folder.name) == os.getpid():
                continue
            values = read_file(folder / "environ").split(b"\0")
            found = next((value[len(_RUN_ID) :].decode() for value in values if value.startswith(_RUN_ID)), "")
            if found in ended:
                words = read_file(folder / "cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
                yield Orphan(pid=int(folder.name), run_id=found, command=words)
