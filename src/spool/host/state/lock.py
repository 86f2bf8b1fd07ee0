"""Allows one loop per change and per working tree, with one `flock` each.

flock, not fcntl: an fcntl lock is lost when any descriptor of the file closes. Locks live under the git common
directory, because an agent may run `git clean -fdx`.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from spool.decoders import decoded
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopSummary, Runner
from spool.errors import LockedError, StateError
from spool.host.runner.identity import is_alive, this_runner
from spool.host.state.places import path_key
from spool.host.state.records import encoded
from spool.nofollow import make_folder, open_file

_ATTEMPTS, _PAUSE_S = 300, 0.01


class TreeWork(StrEnum):
    """Work on a tree without a loop; the door of its holder."""

    VERIFY = "verify"
    LAND = "land"
    UNDO = "undo"
    RESTORE = "checkpoint"
    CLEAN = "clean"
    REMOVE = "workspace"


_WORK = {
    TreeWork.VERIFY: "a check by hand",
    TreeWork.LAND: "a landing",
    TreeWork.UNDO: "an undo",
    TreeWork.RESTORE: "a restore",
    TreeWork.CLEAN: "a cleanup",
    TreeWork.REMOVE: "the removal of a workspace",
}


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """The holder of a lock, for the error message of a second runner."""

    runner: Runner
    run_id: str
    door: str
    change: str
    directory: str
    since: datetime


def holder_of(run: LoopSpec | LoopSummary, since: datetime) -> Holder:
    """Return this process as the holder of a run's locks."""
    return Holder(
        runner=this_runner(), run_id=run.run_id, door=run.door, change=run.change, directory=run.root, since=since
    )


def held_for(
    work: TreeWork, folder: Path, tree: Path | None, *, change: str = "", run_id: str = ""
) -> AbstractContextManager[None]:
    """Hold the lock of a tree for work without a loop; nothing without a tree."""
    now, directory = datetime.now(UTC), str(tree or "")
    holder = Holder(runner=this_runner(), run_id=run_id, door=work, change=change, directory=directory, since=now)
    return held(folder, [tree] if tree else [], holder)


@contextmanager
def held(folder: Path, places: list[Path], holder: Holder) -> Iterator[None]:
    """Hold the locks of all places; raise LockedError, with the holder, if one is taken."""
    with _naming(folder):
        make_folder(folder)
    with ExitStack() as stack:
        for key in dict.fromkeys(key for place in places for key in _keys(place)):
            stack.enter_context(_one(folder / f"{key}.lock", holder))
        yield


@contextmanager
def _one(path: Path, holder: Holder) -> Iterator[None]:
    with _naming(path):
        descriptor = open_file(path, os.O_RDWR | os.O_CREAT)
    try:
        _take(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, encoded(holder), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> None:
    """Take the lock; raise if a living runner holds it.

    Retry for 3 s: a new holder may not have written its name yet, and a runner killed while starting a command leaves
    its lock to that child until the child calls exec.
    """
    for _ in range(_ATTEMPTS):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if other := _named(descriptor):
            raise LockedError(
                f"{_what(other)} is already running in {other.directory} "
                f"(pid {other.runner.pid}, since {other.since.astimezone():%H:%M:%S})",
                door=other.door,
                change=other.change,
                run_id=other.run_id,
            )
        time.sleep(_PAUSE_S)
    raise LockedError("another loop is already running here")


def _what(holder: Holder) -> str:
    return next((said for work, said in _WORK.items() if work == holder.door), f"a loop on '{holder.change}'")


def _named(descriptor: int) -> Holder | None:
    """Return the holder of a lock, unless that runner is dead."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        holder = decoded(os.pread(descriptor, 1 << 16, 0), Holder)
        return holder if is_alive(holder.runner) else None
    return None


def _keys(place: Path) -> Iterator[str]:
    """Yield the names of a place's locks: by device and inode, which a bind mount and a moved folder keep, and by path.

    The path holds where there is no folder yet, or where an agent has made it anew.
    """
    yield path_key(place)
    with suppress(OSError):
        found = place.stat()
        yield f"{found.st_dev:x}-{found.st_ino:x}"


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file or folder that cannot be opened or made, and its owner if that is another user."""
    try:
        yield
    except OSError as error:
        if isinstance(error, PermissionError) and (refusing := _of_another_user(path)):
            raise LockedError(
                f"{refusing} belongs to another user, whose loop may be running here", hint="run the loop as that user"
            ) from None
        raise StateError(f"cannot lock {path}: {error.strerror or error}") from error


def _of_another_user(path: Path) -> Path | None:
    """Return what refuses access to a path, the nearest that can be seen, if another user owns it."""
    for place in (path, *path.parents):
        with suppress(OSError):
            return place if place.lstat().st_uid != os.geteuid() else None
    return None
