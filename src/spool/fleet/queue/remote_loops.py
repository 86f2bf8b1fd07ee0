"""Reads loops that run on other hosts: their place in the queue, and their last snapshots."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from spool.domain.loop.events import Event
from spool.domain.loop.state import IterationRecord
from spool.errors import CommandFailed, StateError
from spool.fleet.queue.payloads import QueuedChange
from spool.fleet.queue.queue import FleetRow, open_queue
from spool.fleet.queue.steering import id_of
from spool.fleet.snapshots.pieces import joined
from spool.fleet.snapshots.snapshot_reading import said_by
from spool.fleet.snapshots.snapshot_store import SnapshotStore
from spool.fleet.values import SnapshotMark
from spool.host.state.journal import readable
from spool.host.state.loop_store import history_in

_RECENT = 10
_POLL_S = 2.0
_OPEN = ("queued", "running", "waiting")


class FleetReport(msgspec.Struct, frozen=True, kw_only=True):
    """A change in the fleet, and what its last snapshot says."""

    row: FleetRow
    snapshot: SnapshotMark | None = None
    unreadable: str = ""
    """Why its snapshot cannot be read."""
    history: tuple[IterationRecord, ...] = ()


async def report_of(name: str) -> FleetReport:
    """Return a change with its last iterations."""
    queue = await open_queue()
    change_id = await id_of(name)
    row = await queue.row(change_id)
    try:
        mark, files = await _last_snapshot(await queue.task_of(change_id))
    except (CommandFailed, StateError) as error:
        return FleetReport(row=row, unreadable=said_by(error))
    history = history_in(joined(files, "history.jsonl").splitlines()[-_RECENT:])
    return FleetReport(row=row, snapshot=mark, history=tuple(history))


async def _last_snapshot(task: QueuedChange) -> tuple[SnapshotMark | None, dict[str, bytes]]:
    """Return the last snapshot of a change, and Spool's files in it."""
    with tempfile.TemporaryDirectory(prefix="spool-show-") as folder:
        store = SnapshotStore(Path(folder) / "store.git", task.snapshots)
        found = await store.fetch(task.change)
        return (found.mark, await store.files(found.commit)) if found else (None, {})


def watch_change(change_id: str, see: Callable[[Event], None], tick: Callable[[], None], *, follow: bool) -> FleetRow:
    """Pass on the events of a change, of all hosts that ran it, as its snapshots arrive; return where it stands."""
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory(prefix="spool-watch-") as folder:
        queue = runner.run(open_queue())
        task = runner.run(queue.task_of(change_id))
        store, seen = SnapshotStore(Path(folder) / "store.git", task.snapshots), 0
        while True:
            row = runner.run(queue.row(change_id))  # before the snapshot, so that the last events are not missed
            journal = runner.run(_journal(store, task.change))
            whole = journal[: journal.rfind(b"\n") + 1]
            for event in _events(whole[seen:]):
                see(event)
            seen = len(whole)
            if not follow or row.status not in _OPEN:
                return row
            time.sleep(_POLL_S)
            tick()


def _events(lines: bytes) -> Iterator[Event]:
    for line in lines.splitlines():
        yield from readable(line)


async def _journal(store: SnapshotStore, change: str) -> bytes:
    found = await store.fetch(change)
    return joined(await store.files(found.commit), "journal.jsonl") if found else b""
