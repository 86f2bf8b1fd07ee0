"""Files that are old or new, never torn, and never readable by others."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_folder(path: Path) -> None:
    """Create a folder and its parents, all for this user only."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir(mode=FOLDER_MODE)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file so that a reader, or a power cut, finds the old content or the new."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with _opened(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
            write_all(descriptor, data)
            os.fsync(descriptor)
        temporary.rename(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def append_line(path: Path, line: bytes) -> None:
    """Add one line to an append-only file, durably. A torn last line, left by a crash, is ended first."""
    new = not path.exists()
    with _opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        write_all(descriptor, (b"\n" if torn else b"") + line + b"\n")
        os.fsync(descriptor)
    if new:
        sync_folder(path.parent)


def read_lines(path: Path) -> Iterator[bytes]:
    """Give the finished lines of an append-only file; an unfinished last one is not there yet."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything: a signal or a nearly full disk may make `write` take less."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(path: Path) -> None:
    """Make a rename or a new name in this folder survive a power cut."""
    with _opened(path, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
