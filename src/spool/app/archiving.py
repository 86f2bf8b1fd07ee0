"""Archives a change in a working tree: by openspec where it is an OpenSpec change, else by moving its folder."""

import os
from datetime import date
from pathlib import Path

from spool.errors import UsageError
from spool.host.command import checked
from spool.host.git.repository import git_environment
from spool.nofollow import make_folder
from spool.sources.openspec import OpenSpec
from spool.sources.project import project_at


def require_archiver(source: str) -> None:
    """Raise a UsageError if changes of this source cannot be archived."""
    if source == "openspec" and not OpenSpec.installed():
        raise UsageError("an OpenSpec change cannot be archived: openspec is not installed", hint="install openspec")


async def archive_change(root: Path, change: str, today: date, *, timeout_s: float) -> bool:
    """Archive a change below a directory; return whether it was there."""
    folders = [folder for folder in project_at(root).folders_of(change) if folder.name == change]
    if not folders:
        return False
    folder = folders[0]
    if folder.is_relative_to(root / "openspec"):
        _refuse_links(root / "openspec")
        words = ["openspec", "archive", change, "--yes"]
        await checked(words, directory=root, timeout_s=timeout_s, env=git_environment())
        return True
    archive = folder.parent / "archive"
    make_folder(archive)
    target = archive / f"{today.isoformat()}-{change}"
    if target.exists():
        raise UsageError(f"{target.name} is archived already", hint="remove one of the two")
    folder.rename(target)
    return True


def _refuse_links(folder: Path) -> None:
    """Raise if a folder holds a link anywhere: openspec would follow it out of the tree."""
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if Path(path, name).is_symlink():
                raise UsageError(f"{Path(path, name)} is a link", hint="put the file itself there")
