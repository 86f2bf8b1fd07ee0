"""The loops of this machine: listed, found by name, and looked at. Loads little: `--status` is to feel instant."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.change import matching as changes_matching
from spool.domain.loop import Door, LoopSummary, pick_latest, settled, state_path, summarized
from spool.domain.state import IterationRecord
from spool.domain.text import one_line
from spool.errors import Hint, SpoolError, UsageError
from spool.host.runner.identity import is_alive
from spool.host.state.registry import this_machine
from spool.host.state.store import StateFolder

RECENT = 10


class LoopReport(msgspec.Struct, frozen=True, kw_only=True):
    """A loop with its recent iterations; `loop` is None where none has run yet."""

    change: str
    loop: LoopSummary | None
    recent: tuple[IterationRecord, ...] = ()
    notes: bool = False
    """Whether notes for the next iteration are waiting."""


def running() -> list[LoopSummary]:
    """Return the loops that run on this machine, of every project and every command."""
    return [loop for loop in map(_refreshed, this_machine().running()) if loop.running]


def with_runner() -> list[LoopSummary]:
    """Return the loops whose runner is alive, those included that have ended but hold a window open."""
    return [loop for loop in known() if is_alive(loop.runner)]


def known() -> list[LoopSummary]:
    """Return every run that is still listed, oldest first."""
    return list(map(_refreshed, this_machine().runs()))


def find_loop(name: str) -> LoopSummary:
    """Return the one run that a person means; a running one comes before finished ones, and the latest of those."""
    found = matching(name, this_machine().runs())
    alive = [loop for loop in found if loop.running]
    if len(alive) > 1:
        listed = ", ".join(f"{loop.id} ({loop.worktree})" for loop in alive)
        raise UsageError(f"'{one_line(name, 60)}' could mean any of: {listed}", hint="give the id")
    if not found:
        raise UsageError(f"there is no loop '{one_line(name, 60)}'", hint=Hint.LIST_LOOPS)
    return _refreshed(alive[0] if alive else found[-1])


def matching(name: str, loops: Iterable[LoopSummary]) -> list[LoopSummary]:
    """Return the runs that a person may mean: by run id, by its last part, by the change."""
    listed = list(loops)
    for fits in (
        lambda loop: name in (loop.run_id, loop.id),
        lambda loop: name == loop.change,
        lambda loop: len(name) >= 3 and loop.id.startswith(name),
    ):
        if found := [loop for loop in listed if fits(loop)]:
            return found
    meant = changes_matching(name, {loop.change for loop in listed})
    return [loop for loop in listed if loop.change in meant]


def is_running(loop: LoopSummary) -> bool:
    """Whether a run is still in progress."""
    found = this_machine().find(loop.run_id)
    return found is not None and found.running


def loop_at(root: Path, door: Door, change: str) -> LoopSummary | None:
    """Return where the loop of a change stands, by its own state; None if none has run."""
    return _settled_state(StateFolder(Path(state_path(str(root), door, change))))


def latest_loop(root: Path, change: str) -> LoopSummary | None:
    """Return the loop of a change that runs, else the one that was active last, of either command."""
    found = []
    for door in (Door.RUN, Door.RALPH):
        with suppress(SpoolError, OSError):  # an unreadable state is the runner's to report
            found.append(loop_at(root, door, change))
    return pick_latest([loop for loop in found if loop is not None])


def report(root: Path, door: Door, change: str, *, recent: int = RECENT) -> LoopReport:
    """Return a loop with its recent iterations and notes."""
    folder = StateFolder(Path(state_path(str(root), door, change)))
    return LoopReport(
        change=change,
        loop=_settled_state(folder),
        recent=tuple(folder.history(last=recent)),
        notes=bool(folder.context().strip()),
    )


def history(loop: LoopSummary) -> list[IterationRecord]:
    """Return every recorded iteration of a loop."""
    return StateFolder(Path(loop.folder)).history()


def _refreshed(loop: LoopSummary) -> LoopSummary:
    """Return a run with the figures of its own state; a listing holds those of its start or end."""
    folder = StateFolder(Path(loop.folder))
    with suppress(SpoolError, OSError):
        state = folder.load()
        if state is not None and state.run_id == loop.run_id:
            return _settle(folder, summarized(state))
    return loop


def _settled_state(folder: StateFolder) -> LoopSummary | None:
    state = folder.load()
    return _settle(folder, summarized(state)) if state is not None else None


def _settle(folder: StateFolder, loop: LoopSummary) -> LoopSummary:
    return settled(loop, alive=is_alive(loop.runner), last_seen=folder.active_at())
