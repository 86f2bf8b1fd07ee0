"""Decides which of several loops may start, and what their ends amount to. Pure, with a table test."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from spool.domain.loop.verdict import ExitCode
from spool.errors import UsageError

_WORST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.FAILED,
    ExitCode.STUCK,
    ExitCode.NEEDS_YOU,
    ExitCode.EXHAUSTED,
    ExitCode.UNCOMMITTED,
    ExitCode.COMPLETE,
)


class Stand(StrEnum):
    """The state of a batch's member."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """It ended, but not as done."""
    SKIPPED = "not started"


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a batch."""

    change: str
    depends_on: tuple[str, ...] = ()
    """The changes of the batch that must be done first."""


def in_order(members: Sequence[Member]) -> list[Member]:
    """Return the members, each after what it depends on; raise a UsageError that names a cycle."""
    known = {member.change: member for member in members}
    placed: dict[str, Member] = {}

    def put(change: str, path: tuple[str, ...]) -> None:
        if change in path:
            cycle = " -> ".join((*path[path.index(change) :], change))
            raise UsageError(f"changes depend on each other: {cycle}", hint="correct depends_on in a proposal.md")
        if change not in placed:
            for needed in known[change].depends_on:
                put(needed, (*path, change))
            placed[change] = known[change]

    for member in members:
        put(member.change, ())
    return list(placed.values())


def may_start(members: Sequence[Member], stands: Mapping[str, Stand], *, parallel: int) -> list[str]:
    """Return the changes to start now, in order, while fewer than `parallel` are running."""
    free = parallel - sum(stand is Stand.RUNNING for stand in stands.values())
    ready = [
        member.change
        for member in members
        if stands[member.change] is Stand.WAITING and all(stands[one] is Stand.DONE for one in member.depends_on)
    ]
    return ready[: max(0, free)]


def never_start(members: Sequence[Member], stands: Mapping[str, Stand]) -> dict[str, str]:
    """Return the changes that cannot start any more, each with what it waits for in vain; members are in order."""
    found: dict[str, str] = {}
    for member in members:
        lost = [one for one in member.depends_on if stands[one] in (Stand.FAILED, Stand.SKIPPED) or one in found]
        if stands[member.change] is Stand.WAITING and lost:
            found[member.change] = lost[0]
    return found


def total_exit_code(codes: Iterable[int]) -> int:
    """Return the exit code of a batch: the first of 130, 1, 4, 6, 3, 5 and 0 that occurred; any other counts as 1."""
    known = {code if code in _WORST_FIRST else ExitCode.FAILED for code in codes}
    return int(next((code for code in _WORST_FIRST if code in known), ExitCode.COMPLETE))
