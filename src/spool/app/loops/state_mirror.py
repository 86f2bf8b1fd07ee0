"""Mirrors a loop's state into the git directory, which an agent's `git clean -fdx` spares."""

import os
from pathlib import Path

from spool.host.git.checkpoints.worktree_identity import WorktreeIdentity, nested_key
from spool.host.git.repository import NoRepository, Repository
from spool.host.state.loop_store import StateFolder


def open_folder(path: Path, repository: Repository | NoRepository) -> StateFolder:
    """Return a loop's state folder, mirrored inside the git directory if there is one."""
    if isinstance(repository, NoRepository):
        return StateFolder(path)
    return StateFolder(path, mirror=mirror_of(path, repository))


def mirror_of(path: Path, repository: Repository) -> Path:
    """Return a state folder's mirror: unique among the worktrees, and the same after a move of the clone."""
    inside = os.fsencode(os.path.relpath(path, repository.top))
    return repository.spool_dir / "state" / f"{path.name}-{nested_key(WorktreeIdentity(repository).key, inside)}"
