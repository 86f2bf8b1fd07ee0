"""Writes files atomically, durably and for this user only."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from spool.errors import StateError
from spool.nofollow import FILE_MODE, LARGEST, open_file, opened_folder

_TAIL = 1 << 20


def replace_file(path: Path, data: bytes, *, mode: int = FILE_MODE) -> None:
    """Replace a file atomically: readers, also after a power cut, find the old content or the new."""
    temporary = f".{path.name}.{os.getpid()}.tmp"
    with naming(path), opened_folder(path.parent) as folder:
        try:
            with suppress(FileNotFoundError):  # whatever it is: a pipe would wait for its reader
                os.unlink(temporary, dir_fd=folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, FILE_MODE, dir_fd=folder)
            try:
                os.fchmod(descriptor, mode)
                write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)


def keep_newest(folder: Path, pattern: str, count: int) -> None:
    """Delete all but the newest files that match a pattern."""
    for path in sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime)[:-count]:
        path.unlink(missing_ok=True)


def remove_temporaries(folder: Path) -> None:
    """Remove the temporary files of writers killed inside `replace_file`; call it as the only writer."""
    for path in folder.glob(".*.tmp"):
        with suppress(OSError):
            path.unlink()


def append_line(path: Path, line: bytes) -> None:
    """Append one line to a file durably, after ending a last line that a crash has torn."""
    new = not path.exists()
    with naming(path), opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        write_all(descriptor, (b"\n" if torn else b"") + line + b"\n")
        os.fsync(descriptor)
        if new:
            sync_folder(path.parent)


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the complete lines of an append-only file as long as it is now, without an unfinished last one."""
    with suppress(FileNotFoundError), _reading(path) as file:
        left = os.fstat(file.fileno()).st_size
        while left > 0 and (line := file.readline(LARGEST)).endswith(b"\n"):
            left -= len(line)
            yield line[:-1]


def last_lines(path: Path, count: int) -> list[bytes]:
    """Return the last complete lines of a file without reading all of it; none from a line of more than 64 MiB."""
    try:
        with _reading(path) as file:
            size = start = file.seek(0, os.SEEK_END)
            step = _TAIL
            lines: list[bytes] = []
            # Read further back while lines are missing: a record may list 200 long names.
            while start and len(lines) <= count and step <= LARGEST:
                start, step = max(0, start - step), 2 * step
                file.seek(start)
                lines = file.read(size - start).split(b"\n")[1 if start else 0 : -1]
    except FileNotFoundError:
        return []
    return lines[-count:]


def end_of(path: Path, limit: int) -> bytes:
    """Return the end of a file, up to a number of bytes; nothing if it cannot be read."""
    with suppress(OSError), opened(path, os.O_RDONLY) as descriptor:
        return os.pread(descriptor, limit, max(0, os.fstat(descriptor).st_size - limit))
    return b""


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes; `write` may take fewer after a signal or on a nearly full disk."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(path: Path) -> None:
    """Make renames and new files in this folder survive a power cut."""
    with opened_folder(path) as descriptor:
        os.fsync(descriptor)


def _reading(path: Path) -> BinaryIO:
    return open(open_file(path, os.O_RDONLY), "rb")  # noqa: PTH123 - it has no path any more


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    """Open a file for this user only. Refuse links: a repository could redirect writes out of its tree."""
    descriptor = open_file(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to an error: a failed `write` or `fsync` knows only a descriptor."""
    try:
        yield
    except OSError as error:
        raise StateError(f"cannot write {path}: {error.strerror or error}") from error
