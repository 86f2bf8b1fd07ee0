"""Decides which git directory and configuration Spool trusts in a workspace.

| workspace | git directory | Spool's own data | git runs |
|---|---|---|---|
| here, worktree | the one that git finds | beside it, in the common directory | as the person |
| clone | the one its record names, the agent's own | beside the clone | in the sandbox, if there is one |
"""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from spool.domain.change.workspaces import Kind, Workspace
from spool.errors import RemovedTree, StateError
from spool.host.git.repository import NoRepository, Repository, find_repository
from spool.host.git.workspaces.clones import KEPT, clone_repository, read_record
from spool.host.git.workspaces.transport import UPLOAD_PACK

if TYPE_CHECKING:
    from spool.host.sandbox.git_sandbox import GitSandbox


async def open_workspace(root: Path, workspace: Workspace | None, *, timeout_s: float) -> Repository | NoRepository:
    """Return the repository in which a loop works: of its workspace, or around its own directory."""
    if workspace is None:
        return await find_repository(root, timeout_s=timeout_s)
    if workspace.kind is not Kind.CLONE:
        return await find_repository(Path(workspace.path), timeout_s=timeout_s)
    top = Path(workspace.path)
    clone = read_record(top.parent)
    if clone is None or not top.is_dir():
        raise RemovedTree(f"the clone {top} was removed")
    if clone.folder != top.name or clone.repository != workspace.repository:
        raise StateError(f"{top} is not the clone of {workspace.repository}")
    repository = clone_repository(top.parent, clone)
    return msgspec.structs.replace(repository, sandbox=git_sandbox(workspace)) if workspace.sandboxed else repository


def git_sandbox(workspace: Workspace) -> "GitSandbox":
    """Return the sandbox for Spool's own git in a clone."""
    from spool.host.sandbox.git_sandbox import GitSandbox  # most loops have none

    top = Path(workspace.path)
    return GitSandbox(top, top.parent / KEPT, hidden=main_of(workspace))


def serving(workspace: Workspace) -> str:
    """Return the command that serves a fetch from a clone, in the sandbox if agents were sandboxed."""
    return git_sandbox(workspace).serving() if workspace.sandboxed else UPLOAD_PACK


def main_of(workspace: Workspace) -> Path:
    """Return the first working tree of the person's repository, or the bare repository."""
    common = Path(workspace.repository)
    return common.parent if common.name == ".git" else common
