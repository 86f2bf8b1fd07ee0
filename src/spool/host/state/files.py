"""Writes files atomically, durably and for this user only."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from spool.errors import StateError

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_TAIL = 1 << 20


def make_folder(path: Path) -> None:
    """Create a folder and its parents durably, for this user only."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir(mode=FOLDER_MODE)
        # Else a power cut may take the folder with everything in it, however well that was synced.
        sync_folder(path.parent)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically: readers, also after a power cut, find the old content or the new."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with naming(path):
        try:
            with opened(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
                write_all(descriptor, data)
                os.fsync(descriptor)
            temporary.rename(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


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
    """Yield the complete lines of an append-only file, without an unfinished last one."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]


def last_lines(path: Path, count: int) -> list[bytes]:
    """Return the last complete lines of a file without reading all of it."""
    try:
        with path.open("rb") as file:
            start, step = file.seek(0, os.SEEK_END), _TAIL
            lines: list[bytes] = []
            # Read further back while lines are missing: a record may list 200 long names.
            while start and len(lines) <= count:
                start, step = max(0, start - step), 2 * step
                file.seek(start)
                lines = file.read().split(b"\n")[1 if start else 0 : -1]
    except FileNotFoundError:
        return []
    return lines[-count:]


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes; `write` may take fewer after a signal or on a nearly full disk."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(path: Path) -> None:
    """Make renames and new files in this folder survive a power cut."""
    with opened(path, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    """Open a file for this user only. Refuse links: a repository could redirect writes out of its tree."""
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
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
