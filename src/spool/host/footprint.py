"""Measures and removes files of Spool. Follows no link, and removes only what it is given."""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


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
    """Remove a file or a folder with everything in it; what is not there is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_if_empty(folder: Path) -> None:
    """Remove a folder that holds nothing any more."""
    with suppress(OSError):
        folder.rmdir()
