"""Archives a change in a clone, whose files are an agent's."""

import os
from datetime import date
from pathlib import Path

from spool.app.changes.format_tool import require_tool
from spool.app.changes.review import archive
from spool.errors import ChangeError, UsageError
from spool.sources.project import project_at
from spool.sources.registry import tool_of


def require_archiver(source: str) -> None:
    """Raise a UsageError if changes of this source cannot be archived."""
    if (tool := tool_of(source)) is not None:
        require_tool(tool, "its changes cannot be archived")


def archive_in_clone(root: Path, change: str, today: date) -> bool:
    """Archive a change below a directory; return whether it was there, with a folder of its own."""
    project = project_at(root)
    try:
        found = project.read(change)
    except ChangeError:
        return False
    if found.plan_file:
        return False
    _refuse_links((root / found.directory).parent.parent)
    archive(project, change, today=today)
    return True


def _refuse_links(folder: Path) -> None:
    """Raise if a folder holds a link anywhere: what is moved and merged there would follow it out of the clone."""
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if Path(path, name).is_symlink():
                raise UsageError(f"{name} in the change's folders is a link", hint="put the file itself there")
