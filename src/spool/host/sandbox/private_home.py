"""The home directory that a sandboxed agent sees: a copy of its own settings, and nothing else of the person's.

A copy, because an agent's settings name commands (hooks, servers) that would run outside the sandbox when the person
starts the same agent. Only the files of its sign-in are the person's own, since tokens are renewed in place. It lasts
for one run, so that no agent prepares the next one's home.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from spool.nofollow import make_folder

_LARGEST = 4 << 20
_MOST_FILES = 2_000


def furnish(home: Path, private: Path, settings: tuple[str, ...], credentials: tuple[str, ...]) -> Mapping[Path, Path]:
    """Make a private home with a copy of an agent's settings; return its sign-in files, inside and outside."""
    if private.exists():
        shutil.rmtree(private)
    make_folder(private)
    signed_in = {private / name: (home / name).resolve() for name in credentials if (home / name).is_file()}
    for name in settings:
        for source in _files(home / name):
            _copy(source, private / source.relative_to(home))
    for inside in signed_in:  # bubblewrap needs a file to put the person's own in its place
        make_folder(inside.parent)
        inside.touch(mode=0o600)
    return signed_in


def _files(path: Path) -> Iterator[Path]:
    """Yield a file, or the first files of a folder; a person's own links are followed."""
    if path.is_file():
        yield path
        return
    count = 0
    for folder, _, names in os.walk(path):
        for name in names:
            count += 1
            if count > _MOST_FILES:
                return
            yield Path(folder, name)


def _copy(source: Path, target: Path) -> None:
    if source.is_file() and os.access(source, os.R_OK) and source.stat().st_size <= _LARGEST:
        make_folder(target.parent)
        shutil.copy(source, target)
