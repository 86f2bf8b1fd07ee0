"""Finds the change in the fleet that a person means, stops and continues changes, and limits accounts."""

from collections.abc import Sequence
from pathlib import Path

from spool.app.changes.resolver import id_here
from spool.domain.loop.verdict import ExitCode
from spool.domain.text.plain_text import one_line
from spool.errors import Hint, SpoolError, UsageError
from spool.fleet.queue.account_history import AccountStanding
from spool.fleet.queue.queue import FleetRow, open_queue
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


async def stop_changes(names: Sequence[str]) -> list[FleetRow]:
    """Stop changes, and return how each ended; a name that is not in the fleet is refused before any is stopped."""
    queue = await open_queue()
    ids = [await id_of(name) for name in dict.fromkeys(names)]
    for change_id in ids:
        await queue.row(change_id)
    return [await queue.stop(change_id) for change_id in ids]


async def retry_changes(names: Sequence[str]) -> dict[str, str]:
    """Put changes back into the queue; return for each id why it was refused, or an empty text."""
    queue, found = await open_queue(), {}
    ids = [await id_of(name) for name in dict.fromkeys(names)]
    for row in [await queue.row(change_id) for change_id in ids]:
        change_id = row.id
        unsent = row.exit_code == ExitCode.UNCOMMITTED  # done, and its branch could not be updated
        if row.status in ("running", "waiting", "queued") or (row.status == "done" and not unsent):
            found[change_id] = f"it is {row.status}"
            continue
        task = await queue.task_of(change_id)
        refused = await queue.start(task, {change_id: task.change})
        found[change_id] = refused.get(change_id, "")
    return found


async def account_standing(name: str, cap: int | None) -> AccountStanding:
    """Set the cap of an account if there is one to set, and return where the account stands."""
    queue = await open_queue()
    if cap is not None:
        await queue.set_cap(name, cap)
    return await queue.standing(name)
