"""Proves without git that no ref changed, by the status of the files that git keeps them in."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from spool import shortcuts
from spool.host.git.checkpoints.record.stamps import Stamp, clock_ns, is_past, stamp_of
from spool.host.git.repository import Repository
from spool.nofollow import read_head

MOST_FILES = 500
"""With more, git is quicker."""
_LINK_BYTES = 4_096
RefStamps = dict[str, Stamp]


def read_ref_stamps(repository: Repository, clock: Path) -> tuple[RefStamps | None, bool]:
    """Return the status of all that holds refs, and whether any later change differs from it.

    None where only git can say: with too many refs, with links, or where they are not kept in files. `clock` is a
    folder for the file that says what time it is where they are kept.
    """
    if not shortcuts.REF_STAMPS:
        return None, False
    try:
        now_ns = clock_ns(clock)
        found = _stamps(repository.git_dir, repository.common_dir)
    except OSError:
        return None, False
    return found, found is not None and all(is_past(stamp[1], now_ns) for stamp in found.values() if stamp)


def _stamps(git_dir: Path, common_dir: Path) -> RefStamps | None:
    if (common_dir / "reftable").exists():
        return None
    found: RefStamps = {}
    for path in (git_dir / "HEAD", common_dir / "packed-refs"):
        entry = os.lstat(path) if path.exists() else None
        if entry is not None and not stat.S_ISREG(entry.st_mode):
            return None
        found[str(path)] = stamp_of(entry) if entry else ()
    folders = [str(folder) for folder in dict.fromkeys((git_dir / "refs", common_dir / "refs")) if folder.exists()]
    while folders:
        folder = folders.pop()
        found[folder] = stamp_of(os.lstat(folder))
        with os.scandir(folder) as entries:
            for one in entries:
                if one.is_dir(follow_symlinks=False):
                    folders.append(one.path)
                elif one.is_symlink():
                    return None
                else:
                    found[one.path] = stamp_of(one.stat(follow_symlinks=False))
        if len(found) + len(folders) > MOST_FILES:
            return None
    return found


def loose_links(git_dir: Path, common_dir: Path) -> dict[bytes, bytes]:
    """Return all symbolic refs below `refs/`, each with what it names: git lists none that names nothing.

    A symbolic ref is never packed. Where refs are not kept in files there is nothing to read.
    """
    found = {}
    for base in dict.fromkeys((common_dir, git_dir)):
        for folder, _, names in os.walk(base / "refs"):
            for name in names:
                path = f"{folder}/{name}"
                with suppress(OSError):
                    if (start := read_head(Path(path), _LINK_BYTES)).startswith(b"ref:"):
                        found[os.fsencode(os.path.relpath(path, base))] = start[4:].strip()
    return found
