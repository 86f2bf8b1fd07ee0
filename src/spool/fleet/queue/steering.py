"""Stops and continues changes of the fleet, and limits accounts."""

from collections.abc import Sequence

from spool.domain.loop.verdict import ExitCode
from spool.fleet.queue.account_history import AccountStanding
from spool.fleet.queue.change_meant import id_of
from spool.fleet.queue.queue import FleetRow, open_queue


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
