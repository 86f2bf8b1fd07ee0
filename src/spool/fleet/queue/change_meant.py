"""Finds the change in the fleet that a person means."""

from pathlib import Path

from spool.app.changes.resolver import id_here
from spool.domain.text.plain_text import one_line
from spool.errors import Hint, SpoolError, UsageError
from spool.fleet.queue.submission import remote_of
from spool.fleet.values import repository_id
from spool.host.git.repository import NoRepository, find_repository

_GIT_S = 30.0


async def repository_here() -> str:
    """Return the name that the repository around the current directory has in the fleet; empty if it has none."""
    found = await find_repository(Path.cwd(), timeout_s=_GIT_S)
    if isinstance(found, NoRepository):
        return ""
    try:
        return repository_id(await remote_of(found, "", timeout_s=_GIT_S))
    except SpoolError:
        return ""


async def id_of(name: str) -> str:
    """Return the id of a change in the fleet: `repository/change`, or a change of this repository."""
    if not name.isprintable():  # the server takes no invalid UTF-8 either
        raise UsageError(f"{one_line(name, 80)} is not in the fleet", hint=Hint.FLEET_LIST)
    if "/" in name:
        return name
    repository = await repository_here()
    if not repository:
        raise UsageError(f"which repository has '{one_line(name, 60)}'?", hint=Hint.FLEET_LIST)
    return f"{repository}/{id_here(name)}"
