"""Finds what leads out of a git directory that an agent can write.

Outside a sandbox, a link or a list of alternates that an agent left would be followed to files of the person's.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from spool.domain.text.plain_text import one_line

LEADING_OUT_HINT = "Spool never puts that there; look at it, and remove it if you do not need it"
_POINTERS = ("commondir", "objects/info/alternates", "objects/info/http-alternates")
"""Files by which a git directory uses another one's objects, refs or configuration."""


def leads_out(git_dir: Path) -> str:
    """Return what git, or Spool, would follow out of a git directory; empty if everything is inside."""
    if git_dir.is_symlink() or not git_dir.is_dir():
        return one_line(str(git_dir), 300)
    found = (path for path in (*(git_dir / name for name in _POINTERS), *_odd_files(git_dir)) if os.path.lexists(path))
    return one_line(str(next(found, "")), 300)


def _odd_files(folder: Path) -> Iterator[Path]:
    """Yield the links, and what is neither file nor folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _odd_files(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
