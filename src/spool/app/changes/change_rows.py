"""Lists the changes of a project, each with its latest loop."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from spool.app.loops.loop_list import latest_loop, running
from spool.domain.change.change import ChangeInfo
from spool.domain.loop.summary import LoopSummary
from spool.errors import SpoolError
from spool.host.state.loop_store import StateFolder
from spool.sources.project import Project


class ChangeRow(ChangeInfo, frozen=True, kw_only=True):
    """A row of the selection: a change and its latest loop, if any."""

    loop: LoopSummary | None = None
    active_at: datetime | None = None
    elsewhere: str = ""
    """The working tree of the loop, if not the current one."""

    @property
    def running(self) -> bool:
        """Whether its loop is running."""
        return self.loop is not None and self.loop.running


def change_rows(project: Project, repository: str) -> list[ChangeRow]:
    """Return the active changes, and running loops in other worktrees of the repository; running ones first."""
    found = [_row(info, latest_loop(project.root, info.id)) for info in (*project.changes(), *project.plans())]
    here = {row.loop.folder for row in found if row.loop}
    found += [_unlisted(loop, project) for loop in running() if loop.project == repository and loop.folder not in here]
    return sorted(found, key=lambda row: (not row.running, row.id, row.elsewhere))


def _unlisted(loop: LoopSummary, project: Project) -> ChangeRow:
    """Return the row of a loop in another worktree, with the task counts there, or on a plan file of this one."""
    info = ChangeInfo(loop.change, "", loop.change)
    with suppress(SpoolError, OSError):
        info = next((one for one in Project(Path(loop.worktree)).changes() if one.id == loop.change), info)
    return _row(info, loop, elsewhere="" if loop.root == str(project.root) else loop.worktree)


def _row(info: ChangeInfo, loop: LoopSummary | None, *, elsewhere: str = "") -> ChangeRow:
    active_at = (StateFolder(Path(loop.folder)).active_at() or loop.updated_at) if loop else None
    return ChangeRow(**msgspec.structs.asdict(info), loop=loop, active_at=active_at, elsewhere=elsewhere)
