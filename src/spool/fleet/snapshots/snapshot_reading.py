"""Reads the snapshots of many changes; an unreadable one does not affect the others."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from spool.domain.text.plain_text import one_line
from spool.errors import CommandFailed, SpoolError
from spool.fleet.snapshots.carried_state import SPEC, STATE, submitted_spec
from spool.fleet.snapshots.snapshot_store import SnapshotStore
from spool.fleet.values import SnapshotMark
from spool.host.state.loop_store import state_in

_SAID = 300


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Snapshots by their refs, and the errors of unreadable ones."""

    marks: Mapping[str, SnapshotMark]
    unreadable: Mapping[str, str]


def said_by(error: SpoolError) -> str:
    """Return why a snapshot cannot be read, on one line."""
    return one_line(str(error), _SAID)


async def read_marks(store: SnapshotStore, refs: Sequence[str]) -> Found:
    """Fetch snapshots, and return what they say of their changes."""
    unreadable = await _fetched(store, refs)
    marks: dict[str, SnapshotMark] = {}
    for ref in refs:
        if ref not in unreadable:
            try:
                marks[ref] = (await store.fetched(ref)).mark
            except SpoolError as error:
                unreadable[ref] = said_by(error)
    return Found(marks=marks, unreadable=unreadable)


async def with_state(store: SnapshotStore, found: Found) -> Found:
    """Check the spec and the state as well, without which no host can continue."""
    unreadable = dict(found.unreadable)
    for ref in found.marks:
        try:
            files = await store.files(await store.commit_at(ref), only=(SPEC, STATE))
            submitted_spec(files)
            if STATE in files:  # a change that no host has taken has none
                state_in(files[STATE], Path(STATE))
        except SpoolError as error:
            unreadable[ref] = said_by(error)
    return Found(marks={ref: mark for ref, mark in found.marks.items() if ref not in unreadable}, unreadable=unreadable)


async def _fetched(store: SnapshotStore, refs: Sequence[str]) -> dict[str, str]:
    """Fetch refs; return those that the remote cannot give, found by halves: git fetches all of them or none."""
    try:
        await store.fetch_all(store.url, refs)
    except CommandFailed as error:
        if len(refs) == 1:
            return {refs[0]: said_by(error)}
        middle = len(refs) // 2
        return await _fetched(store, refs[:middle]) | await _fetched(store, refs[middle:])
    return {}
