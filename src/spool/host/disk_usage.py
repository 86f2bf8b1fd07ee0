"""Measures and removes files of Spool. Follows no link, and removes only what it is given.

What is behind a link, in any part of a path, is not Spool's, which writes nothing there: an agent can put a link to the
person's home in the place of a folder of Spool's.
"""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from spool.nofollow import Linked, opened_folder


def bytes_of(paths: Iterable[Path]) -> int:
    """Return the space that files and folders take on disk; a file with several names counts once."""
    seen: dict[tuple[int, int], int] = {}
    for path in paths:
        for file in _files(path):
            with suppress(OSError):
                found = file.lstat()
                seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(seen.values())


def _files(path: Path) -> Iterable[Path]:
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):  # follows no link
        yield from (Path(folder, name) for name in names)


def remove(path: Path) -> None:
    """Remove a file or a folder with everything in it; what is not there, or behind a link, is fine."""
    with suppress(Linked, FileNotFoundError, NotADirectoryError), opened_folder(path.parent) as parent:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path.name, dir_fd=parent)
        else:
            os.unlink(path.name, dir_fd=parent)


def remove_if_empty(folder: Path) -> None:
    """Remove a folder that holds nothing any more."""
    with suppress(OSError):
        folder.rmdir()
