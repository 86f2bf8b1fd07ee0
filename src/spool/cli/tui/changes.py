"""Which changes there are, and what their loops do or did."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

from spool.domain.change import ChangeInfo
from spool.domain.state import LoopState
from spool.domain.verdict import Status
from spool.errors import SpoolError
from spool.host.runner.identity import is_alive
from spool.host.state.registry import Entry, this_machine
from spool.host.state.store import StateFolder
from spool.sources.project import Project
from spool.tui.client import ChangeRow, LoopRef

_DOORS = ("run", "ralph")


def rows(project: Project, repository: str) -> list[ChangeRow]:
    """Return the active changes and the loops in other worktrees of the repository, those that run first."""
    found = [_row(project, info) for info in project.changes()]
    here = {row.loop.state for row in found if row.loop}
    found += [
        _elsewhere(entry)
        for entry in this_machine().running()
        if entry.project == repository and entry.state not in here
    ]
    return sorted(found, key=lambda row: (not row.running, row.id, row.elsewhere))


def _elsewhere(entry: Entry) -> ChangeRow:
    """Return the line of a loop that runs in another worktree, with that worktree's own count of tasks."""
    info: ChangeInfo | None = None
    with suppress(SpoolError, OSError):
        info = next((one for one in Project(Path(entry.worktree)).changes() if one.id == entry.change), None)
    return ChangeRow(
        id=entry.change,
        source=info.source if info else "",
        title=info.title if info else entry.change,
        done=info.done if info else 0,
        total=info.total if info else 0,
        status=str(entry.status),
        active_at=StateFolder(Path(entry.state)).active_at() or entry.started_at,
        running=True,
        elsewhere=entry.worktree,
        loop=LoopRef(
            door=entry.door,
            change=entry.change,
            root=entry.worktree,
            state=entry.state,
            pid=entry.runner.pid,
            start_time=entry.runner.start_time,
        ),
    )


def _row(project: Project, info: ChangeInfo) -> ChangeRow:
    door, state = _latest(project, info.id)
    running = state is not None and _runs(state)
    status, reason = (str(state.status), state.reason) if state else ("", "")
    if state is not None and state.status is Status.RUNNING and not running:
        status, reason = str(Status.STOPPED), "its runner died"
    return ChangeRow(
        id=info.id,
        source=info.source,
        title=info.title,
        done=info.done,
        total=info.total,
        status=status,
        reason=reason,
        active_at=(StateFolder(project.state / door / info.id).active_at() or state.updated_at) if state else None,
        running=running,
        loop=_ref(project, door, info.id, state) if state else None,
    )


def _latest(project: Project, change: str) -> tuple[str, LoopState | None]:
    """Return the loop that runs, else the one that was active last."""
    found: list[tuple[bool, datetime, str, LoopState]] = []
    for door in _DOORS:
        with suppress(SpoolError, OSError):  # a state that cannot be read is the runner's to report
            state = StateFolder(project.state / door / change).load()
            if state is not None:
                found.append((_runs(state), state.updated_at, door, state))
    if not found:
        return "", None
    _, _, door, state = max(found, key=lambda one: one[:2])
    return door, state


def _runs(state: LoopState) -> bool:
    return state.status is Status.RUNNING and is_alive(state.runner)


def _ref(project: Project, door: str, change: str, state: LoopState) -> LoopRef:
    return LoopRef(
        door=door,
        change=change,
        root=str(project.root),
        state=str(project.state / door / change),
        pid=state.runner.pid,
        start_time=state.runner.start_time,
    )
