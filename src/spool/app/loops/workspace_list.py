"""Lists the workspaces of a repository, and removes them without losing what is on no branch."""

import asyncio
import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import msgspec

from spool.app.changes.resolver import id_here
from spool.app.loops.loop_list import latest_loop, loop_at
from spool.app.starting.effective_settings import root_here
from spool.domain.change.checkout import change_of
from spool.domain.change.workspaces import Kind
from spool.domain.loop.summary import LoopKind, LoopSummary
from spool.domain.loop.verdict import Status
from spool.errors import BranchMoved, CommandError, Hint, SpoolError, UsageError
from spool.host.git.checkouts import checkouts, git
from spool.host.git.repository import Repository, find_repository
from spool.host.git.workspaces.clones import (
    KEPT,
    Clone,
    clones_of,
    known_clones,
    read_record,
    remove_clone,
    workspace_of,
)
from spool.host.git.workspaces.delivery import FETCHED, Branches
from spool.host.git.workspaces.inspection import Inspection, Loose
from spool.host.git.workspaces.opening import serving
from spool.host.state.lock import TreeWork, held_for
from spool.host.state.places import user_data

__all__ = ["Loose", "WorkspaceRow", "find_workspace", "list_workspaces", "remove_workspace"]

_TIMEOUT_S = 60.0


class WorkspaceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace and its loop."""

    change: str
    kind: Kind
    path: str
    branch: str
    repository: str
    """The main directory of the repository."""
    common_dir: str
    """The git directory that all working trees of the repository share."""
    status: Status | None = None
    """The status of its loop; None if there is none."""


def list_workspaces(*, everywhere: bool) -> list[WorkspaceRow]:
    """Return the worktrees and clones of this repository by change, or also the clones of all others."""
    here, found = root_here() or Path.cwd(), []
    repository = _repository(here, required=not everywhere)
    if repository is not None:
        found = [*_worktrees(repository, here), *_clones(clones_of(repository), here)]
    if everywhere:
        own = clones_of(repository) if repository is not None else None
        folders = sorted((user_data() / "clones").glob("[!.]*"))
        found += [row for folder in folders if folder != own for row in _clones(folder, None)]
    return sorted(found, key=lambda row: (row.repository, row.change, row.kind))


def find_workspace(name: str) -> WorkspaceRow:
    """Return the only workspace of a change in this repository, or the one at a path, of any repository."""
    path = str(Path(name).resolve())
    rows = list_workspaces(everywhere="/" in name)
    found = [row for row in rows if row.change in (name, id_here(name)) or row.path == path]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"'{name}' has more than one workspace", hint=Hint.NAME_WORKSPACE)
    known = ", ".join(dict.fromkeys(row.change for row in rows)) or "none"
    raise UsageError(f"no workspace of '{name}' in this repository", hint=f"workspaces: {known}")


def remove_workspace(row: WorkspaceRow, agrees: Callable[[Loose], bool]) -> bool:
    """Remove a workspace, unless it holds something that is on no branch and the person does not agree.

    Commits of a clone that are not on its branch yet are fetched first. Raise LockedError if a loop is running in it.
    """
    path = Path(row.path)
    common = Path(row.common_dir)
    locks = common / "spool" / "locks"
    with held_for(TreeWork.REMOVE, locks, path, change=row.change) if common.is_dir() else nullcontext():
        loose = asyncio.run(_inspect(row)) if common.is_dir() else Loose(unknown=f"{common} is gone")
        if not loose.nothing and not agrees(loose):
            return False
        if row.kind is Kind.CLONE:
            remove_clone(path.parent)
        else:
            git("worktree", "remove", "--force", "--force", "--", str(path), directory=common)
    return True


async def _inspect(row: WorkspaceRow) -> Loose:
    path, common = Path(row.path), Path(row.common_dir)
    inspection = Inspection(common, Path(row.repository), timeout_s=_TIMEOUT_S)
    if row.kind is Kind.WORKTREE:
        return await inspection.of_worktree(path)
    clone = read_record(path.parent)
    if clone is None:
        raise UsageError(f"the clone {path} is gone")
    branches = Branches(common, timeout_s=_TIMEOUT_S)
    workspace = workspace_of(path.parent, clone, "")
    try:
        served_by = serving(workspace)
        with suppress(BranchMoved):  # its commits are then on no branch, which the inspection sees
            await branches.deliver(row.change, workspace, served_by=served_by)
    except (CommandError, UsageError, OSError) as error:  # without bubblewrap nothing of a sandbox is read
        return Loose(unknown=str(error))
    commit = await branches.commit_of(f"{FETCHED}{row.change}")
    return await inspection.of_clone(path, path.parent / KEPT, commit, clone.object_format, served_by=served_by)


def _repository(here: Path, *, required: bool) -> Repository | None:
    found = asyncio.run(find_repository(here, timeout_s=_TIMEOUT_S))
    if isinstance(found, Repository):
        return found
    if required:
        raise UsageError(f"workspaces belong to a git repository: {found.why}")
    return None


def _worktrees(repository: Repository, root: Path) -> list[WorkspaceRow]:
    inside = os.path.relpath(root, repository.top)
    rows = []
    for one in checkouts(repository.top):
        change = change_of(one)
        if change and not one.is_main:
            path = Path(one.path)
            status = _status(root, change, path) or _status_of(loop_at(path / inside, LoopKind.WORKTREE, change))
            rows.append(
                WorkspaceRow(
                    change=change,
                    kind=Kind.WORKTREE,
                    path=one.path,
                    branch=one.branch or "",
                    repository=str(repository.main),
                    common_dir=str(repository.common_dir),
                    status=status,
                )
            )
    return rows


def _clones(folder: Path, root: Path | None) -> list[WorkspaceRow]:
    return [_clone_row(home, clone, root) for home, clone in known_clones(folder)]


def _clone_row(home: Path, clone: Clone, root: Path | None) -> WorkspaceRow:
    common = Path(clone.repository)
    main = common.parent if common.name == ".git" else common
    path = home / clone.folder
    return WorkspaceRow(
        change=clone.change,
        kind=Kind.CLONE,
        path=str(path),
        branch=clone.branch,
        repository=str(main),
        common_dir=clone.repository,
        status=_status(root or main, clone.change, path),
    )


def _status(root: Path, change: str, path: Path) -> Status | None:
    """Return the status of the loop that works in a workspace, by the state in the person's repository."""
    with suppress(SpoolError, OSError):
        loop = latest_loop(root, change)
        return _status_of(loop) if loop and loop.workspace and Path(loop.workspace.path) == path else None
    return None


def _status_of(loop: LoopSummary | None) -> Status | None:
    return loop.status if loop else None
