"""Lists, finds and reads the loops of this machine. Imports little, to keep `--status` fast."""

from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.loop.state import IterationRecord, LoopState
from spool.domain.loop.summary import DIED, LoopKind, LoopSummary, pick_latest, settled, state_path, summarized
from spool.errors import SpoolError
from spool.host.git.pointers import common_of, top_of
from spool.host.runner.identity import is_alive
from spool.host.state.loop_store import StateFolder
from spool.host.state.run_registry import this_machine

RECENT = 10
_IDENTITY = (
    "run_id",
    "door",
    "change",
    "project",
    "worktree",
    "root",
    "folder",
    "workspace",
    "terminal",
    "log",
    "runner",
)


class LoopReport(msgspec.Struct, frozen=True, kw_only=True):
    """A loop with its recent iterations; `loop` is None if none has run yet."""

    change: str
    loop: LoopSummary | None
    recent: tuple[IterationRecord, ...] = ()
    notes: bool = False
    """Whether there are notes for the next iteration."""


def running() -> list[LoopSummary]:
    """Return the loops running on this machine, of all projects and commands."""
    return [loop for loop in map(_refreshed, filter(_is_running, _runs())) if loop.running]


def with_runner() -> list[LoopSummary]:
    """Return the loops whose runner is alive, including ended ones that keep a window open."""
    return [loop for loop in known() if is_alive(loop.runner)]


def known() -> list[LoopSummary]:
    """Return all registered runs, oldest first."""
    return list(map(_refreshed, _runs()))


def latest_of_each() -> list[LoopSummary]:
    """Return every loop of this machine once, by its latest run."""
    return list({loop.folder: loop for loop in known()}.values())


def _is_running(loop: LoopSummary) -> bool:
    return loop.running


def _runs() -> list[LoopSummary]:
    """Return all registered runs as registered; whoever lists them reports a runner that was killed, once."""
    runs = this_machine().runs()
    if dead := [loop for loop in runs if loop.reason == DIED]:
        from spool.app.observing.notices import report_killed  # only after a kill

        report_killed(dead)
        for loop in dead:
            if loop.door is LoopKind.WORKTREE:
                _refreshed(loop)
    return runs


def is_running(loop: LoopSummary) -> bool:
    """Whether a run is still in progress."""
    found = this_machine().find(loop.run_id)
    return found is not None and found.running


def why_ended(loop: LoopSummary) -> str:
    """Return why a run ended, as its runner registered it, or that the runner died."""
    found = this_machine().find(loop.run_id)
    return (found.reason if found else "") or DIED


def as_it_stands(loop: LoopSummary) -> LoopSummary:
    """Return a run with its current figures, settled."""
    return _refreshed(loop)


def loop_at(root: Path, door: LoopKind, change: str) -> LoopSummary | None:
    """Return the loop of a change, read from its state; None if none has run."""
    return _settled_state(StateFolder(Path(state_path(str(root), door, change))))


def latest_loop(root: Path, change: str) -> LoopSummary | None:
    """Return the running loop of a change, else the one active last, of any command."""
    found = []
    for door in LoopKind:
        with suppress(SpoolError, OSError):  # the runner reports an unreadable state
            found.append(loop_at(root, door, change))
    return pick_latest([loop for loop in found if loop is not None])


def report(root: Path, door: LoopKind, change: str, *, recent: int = RECENT) -> LoopReport:
    """Return a loop with its recent iterations and notes; of another command, if that is what is running."""
    latest = latest_loop(root, change)
    door = latest.door if latest is not None and latest.running else door
    folder = StateFolder(Path(state_path(str(root), door, change)))
    return LoopReport(
        change=change,
        loop=_settled_state(folder),
        recent=tuple(folder.history(last=recent)),
        notes=bool(folder.context().strip()),
    )


def history(loop: LoopSummary, *, last: int | None = None) -> list[IterationRecord]:
    """Return the recorded iterations of a loop, or the last ones."""
    return StateFolder(Path(loop.folder)).history(last)


def folder_before(loop: LoopSummary) -> str:
    """Return the state folder that a loop had when it ran, before its worktree was moved."""
    state = StateFolder(Path(loop.folder)).load()
    return state.folder if state is not None else loop.folder


def _refreshed(loop: LoopSummary) -> LoopSummary:
    """Return a run with the figures of its state; the registry has only those of its start or end."""
    folder = StateFolder(Path(loop.folder))
    state = folder.of_run(loop.run_id)
    if state is None and _restored(folder) is not None:
        state = folder.of_run(loop.run_id)
    if state is None:
        return loop
    # An agent can write the state, but not the registry: who and where a run is comes from there.
    known = {name: getattr(loop, name) for name in _IDENTITY}
    return _settle(folder, msgspec.structs.replace(summarized(state), **known))


def _settled_state(folder: StateFolder) -> LoopSummary | None:
    state = folder.load() or _restored(folder)
    return _settle(folder, _moved_to(folder.path, summarized(state))) if state is not None else None


def _restored(folder: StateFolder) -> LoopState | None:
    """Return the state of a folder that a `git clean` removed, from its second names in the git directory."""
    state, name = folder.path.parents[1], folder.path.name
    top = None if state.exists() else top_of(folder.path.parents[3].resolve())
    if top is None or not any((common_of(top) / "spool" / "state").glob(f"{name}-*")):
        return None
    from spool.app.loops.state_mirror import restore_lost  # loads what runs git

    with suppress(SpoolError, OSError):
        for door in LoopKind:
            restore_lost(state / door / name, top)
        return folder.load()
    return None


def _moved_to(folder: Path, loop: LoopSummary) -> LoopSummary:
    """Return a loop where its state was found: a worktree may have been moved since it ran."""
    root, was = str(folder.parents[3]), loop.root
    if not was or root == was:
        return msgspec.structs.replace(loop, root=root, folder=str(folder), worktree=loop.worktree or root)
    log = loop.log.replace(was, root, 1) if loop.log and loop.log.startswith(was) else loop.log
    return msgspec.structs.replace(loop, root=root, folder=str(folder), worktree=root, log=log)


def _settle(folder: StateFolder, loop: LoopSummary) -> LoopSummary:
    """Return a loop corrected for its runner; whoever looks first writes down that a worktree loop's was killed."""
    found = settled(loop, alive=is_alive(loop.runner), last_seen=folder.active_at())
    if loop.running and not found.running and loop.door is LoopKind.WORKTREE:
        from spool.app.loops.control import write_killed  # only after a kill

        write_killed(found)
    return found
