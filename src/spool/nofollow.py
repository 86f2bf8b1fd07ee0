"""Opens files and folders without following links, in any part of the path.

A repository, or an agent in it, can put a link where Spool reads or writes. The roots that Spool starts from (the
current directory, git's own answers, the user's directories) are resolved once, so below `/` no part may be a link.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""O_PATH needs permission to pass through a folder, not to read it."""
_NO_LINKS = getattr(os, "O_NOFOLLOW_ANY", 0)
"""macOS refuses links in all parts at once."""


class Unreadable(OSError):
    """What stands at a path is not what Spool reads: a pipe, a folder or a huge file."""


class Linked(Unreadable):
    """A part of a path is a link."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ELOOP, f"{path} is a link, and Spool does not follow links there")


def open_file(path: Path, flags: int, mode: int = FILE_MODE) -> int:
    """Open a file and return its descriptor; raise Linked if a part of its path is a link."""
    whole = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links
    if _NO_LINKS:
        try:
            return os.open(whole, flags | os.O_CLOEXEC | _NO_LINKS, mode)
        except OSError as error:
            raise (Linked(whole) if error.errno == errno.ELOOP else error) from None
    folder, name = os.path.split(whole)
    with _walked(folder) as inside:
        return _named(inside, name or ".", flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode, whole)


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """Open a folder, for calls that take its descriptor."""
    descriptor = open_file(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Create a folder and its parents durably, for this user only."""
    try:
        with opened_folder(path):
            return
    except FileNotFoundError:
        make_folder(path.parent)
    with suppress(FileExistsError), opened_folder(path.parent) as parent:
        os.mkdir(path.name, FOLDER_MODE, dir_fd=parent)
        # Else a power cut may take the folder with everything in it, however well that was synced.
        os.fsync(parent)
    with opened_folder(path):  # somebody may have put a link or a file there meanwhile
        pass


def read_file(path: Path, *, most_bytes: int = -1) -> bytes:
    """Return the content of a regular file; raise if it is anything else, or too large."""
    descriptor = open_file(path, os.O_RDONLY | os.O_NONBLOCK)  # a FIFO would block for ever
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable(errno.EINVAL, f"{path} is not a file")
        if 0 <= most_bytes < found.st_size:
            raise Unreadable(errno.EFBIG, f"{path} is larger than {most_bytes >> 20} MiB")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def folder_names(path: Path) -> list[str]:
    """Return the sorted names in a folder; none if it does not exist."""
    with suppress(FileNotFoundError, NotADirectoryError), opened_folder(path) as folder:
        return sorted(os.listdir(folder))  # noqa: PTH208 - of a descriptor
    return []


def refuse_links(*folders: Path) -> None:
    """Raise Linked if one of the folders holds a link, for another program that would follow it."""
    for path in folders:
        with opened_folder(path) as folder, os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise Linked(str(path / entry.name))


@contextmanager
def _walked(folder: str) -> Iterator[int]:
    """Open a folder part by part."""
    descriptor, seen = os.open("/", _STEP), ""
    try:
        for part in folder.split("/"):
            if part:
                seen = f"{seen}/{part}"
                inside = _named(descriptor, part, _STEP, 0, seen)
                os.close(descriptor)
                descriptor = inside
        yield descriptor
    finally:
        os.close(descriptor)


def _named(folder: int, name: str, flags: int, mode: int, path: str) -> int:
    try:
        return os.open(name, flags, mode, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(folder, name):
            raise Linked(path) from None
        error.filename = path
        raise


def _is_link(folder: int, name: str) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    return False
