"""Decides which git directory and which configuration Spool believes in a workspace.

| workspace | git directory | Spool's own data | git runs |
|---|---|---|---|
| here, worktree | the one that git finds | beside it, in the common directory | as the person |
| clone | the one its record names, the agent's own | beside the clone | in the fence, if there is one |
"""

from pathlib import Path

import msgspec

from spool.domain.workspace import Kind, Workspace
from spool.errors import RemovedTree, StateError
from spool.host.git.repository import Fence, NoRepository, Repository, find_repository
from spool.host.git.workspaces.clones import clone_repository, read_record


async def open_workspace(
    root: Path, workspace: Workspace | None, *, timeout_s: float, fence: Fence | None = None
) -> Repository | NoRepository:
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
    return msgspec.structs.replace(clone_repository(top.parent, clone), fence=fence)
