"""Opens files and folders without waiting, by type, and without following links in any part of the path.

A repository, or an agent in it, can put a link, a pipe or a huge file where Spool reads or writes. The roots that Spool
starts from (the current directory, git's own answers, the user's directories) are resolved once, so below `/` no part
may be a link. `tests/unit/test_opening.py` refuses other ways to open files.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
LARGEST = 64 << 20
"""The size of a file that Spool wrote, or that people write, is below this."""
WHOLE = 4 << 30
"""For files of any kind in the user's tree, and git's index: what memory holds."""
_PIECE = 1 << 16
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""O_PATH needs permission to pass through a folder, not to read it."""
_NO_LINKS = getattr(os, "O_NOFOLLOW_ANY", 0)
"""macOS refuses links in all parts at once."""


class Unreadable(OSError):
    """A path holds what Spool does not read: a pipe, a folder or a huge file."""


class IsFolder(Unreadable, IsADirectoryError):
    """A folder is where Spool reads a file."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EISDIR, f"{path}: {os.strerror(errno.EISDIR)}")


class Linked(Unreadable):
    """A part of a path is a link."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ELOOP, f"{path} is a link, and Spool does not follow links there")


def open_file(path: Path, flags: int, mode: int = FILE_MODE) -> int:
    """Open a regular file and return its descriptor, with O_DIRECTORY a folder; never wait.

    Raise Linked if a part of its path is a link, and Unreadable if something else stands there.
    """
    whole = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links
    with _naming_kind(whole):
        return _of_type(_opened(whole, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode), flags, whole)


def _opened(whole: str, flags: int, mode: int) -> int:
    if _NO_LINKS:
        try:
            return os.open(whole, flags | _NO_LINKS, mode)
        except OSError as error:
            raise (Linked(whole) if error.errno == errno.ELOOP else error) from None
    folder, name = os.path.split(whole)
    with _walked(folder) as inside:
        return _named(inside, name or ".", flags | os.O_NOFOLLOW, mode, whole)


def _of_type(descriptor: int, flags: int, path: str) -> int:
    """Return the descriptor of a regular file, /dev/null or a folder that was asked for; close any other and raise."""
    kind = os.fstat(descriptor).st_mode
    if flags & os.O_DIRECTORY or stat.S_ISREG(kind) or path == os.devnull:
        return descriptor
    os.close(descriptor)
    raise IsFolder(path) if stat.S_ISDIR(kind) else Unreadable(errno.EINVAL, f"{path} is not a file")


@contextmanager
def _naming_kind(path: str) -> Iterator[None]:
    """Raise Unreadable where opening fails by type: a socket, a pipe without a reader, a folder to write to."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP):
            raise Unreadable(error.errno, f"{path} is not a file") from None
        if error.errno == errno.EISDIR and not isinstance(error, Unreadable):
            raise IsFolder(path) from None
        raise


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


def read_file(path: Path, *, most_bytes: int = LARGEST) -> bytes:
    """Return the content of a regular file; raise if it is anything else, or too large."""
    return _content(open_file(path, os.O_RDONLY), path, most_bytes)


def read_linked(path: Path, *, most_bytes: int = LARGEST) -> bytes:
    """Return the content of a regular file as `read_file` does, but follow links: for what a person or git places."""
    return _content(_open_linked(path), path, most_bytes)


def read_head(path: Path, most_bytes: int) -> bytes:
    """Return the first bytes of a regular file; follow links."""
    descriptor = _open_linked(path)
    try:
        return os.read(descriptor, most_bytes)
    finally:
        os.close(descriptor)


def _open_linked(path: Path) -> int:
    with _naming_kind(str(path)):
        return _of_type(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), os.O_RDONLY, str(path))


def _content(descriptor: int, path: Path, most_bytes: int) -> bytes:
    """Read a file to its end and close it. One that grows faster than it is read ends at the limit, too."""
    try:
        size = os.fstat(descriptor).st_size
        data = b"" if size > most_bytes else os.read(descriptor, size + 1)
        while size <= most_bytes and len(data) <= most_bytes and (more := os.read(descriptor, _PIECE + len(data))):
            data += more
    finally:
        os.close(descriptor)
    if max(size, len(data)) > most_bytes:
        raise Unreadable(errno.EFBIG, f"{path} is larger than {most_bytes >> 20} MiB")
    return data


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
