"""Mirrors a loop's state into the git directory, which an agent's `git clean -fdx` spares."""

import os
from pathlib import Path

from spool.host.git.checkpoints.worktree_identity import WorktreeIdentity, nested_key
from spool.host.git.pointers import common_of, git_directory
from spool.host.git.repository import NoRepository, Repository
from spool.host.state.loop_store import StateFolder


def open_folder(path: Path, repository: Repository | NoRepository) -> StateFolder:
    """Return a loop's state folder, mirrored inside the git directory if there is one."""
    if isinstance(repository, NoRepository):
        return StateFolder(path)
    return StateFolder(path, mirror=mirror_of(path, repository))


def restore_lost(path: Path, top: Path) -> None:
    """Restore a state folder that a `git clean` removed after its run, if it has a mirror; run no git."""
    root = path.parents[3]
    repository = Repository(top, git_directory(top), common_of(top), "")
    mirror = mirror_of(root.resolve() / path.relative_to(root), repository)
    if (mirror / "state.json").exists():
        StateFolder(path, mirror=mirror).prepare()


def mirror_of(path: Path, repository: Repository) -> Path:
    """Return a state folder's mirror: unique among the worktrees, and the same after a move of the clone."""
    inside = os.fsencode(os.path.relpath(path, repository.top))
    return repository.spool_dir / "state" / f"{path.name}-{nested_key(WorktreeIdentity(repository).key, inside)}"
