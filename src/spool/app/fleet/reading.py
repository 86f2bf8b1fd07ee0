"""Reads the snapshots of many changes; one that cannot be read keeps none of the others from it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from spool.app.fleet.carried_state import SPEC, STATE, submitted_spec
from spool.domain.fleet import Mark
from spool.domain.text import one_line
from spool.errors import CommandFailed, SpoolError
from spool.host.git.fleet.store import Store
from spool.host.state.store import state_in

_SAID = 300


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What snapshots say, by their refs, and why others cannot be read."""

    marks: Mapping[str, Mark]
    unreadable: Mapping[str, str]


def said_by(error: SpoolError) -> str:
    """Return why a snapshot cannot be read, on one line."""
    return one_line(str(error), _SAID)


async def read_marks(store: Store, refs: Sequence[str]) -> Found:
    """Fetch snapshots, and return what they say of their changes."""
    unreadable = await _fetched(store, refs)
    marks: dict[str, Mark] = {}
    for ref in refs:
        if ref not in unreadable:
            try:
                marks[ref] = (await store.fetched(ref)).mark
            except SpoolError as error:
                unreadable[ref] = said_by(error)
    return Found(marks=marks, unreadable=unreadable)


async def with_state(store: Store, found: Found) -> Found:
    """Look at the spec and the state as well, without which no host can continue."""
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


async def _fetched(store: Store, refs: Sequence[str]) -> dict[str, str]:
    """Fetch refs; return those that the remote cannot give, found by halves: git fetches all of them or none."""
    try:
        await store.fetch_all(store.url, refs)
    except CommandFailed as error:
        if len(refs) == 1:
            return {refs[0]: said_by(error)}
        middle = len(refs) // 2
        return await _fetched(store, refs[:middle]) | await _fetched(store, refs[middle:])
    return {}
