"""Makes the clone in which a host continues a change, from a snapshot in its store."""

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from spool.decoders import decoded
from spool.domain.change.workspaces import branch_of_change
from spool.errors import StateError
from spool.fleet.snapshots.snapshot_store import SnapshotStore, StoredSnapshot
from spool.fleet.snapshots.tree_commits import Parents, refresh_index, write_tree
from spool.fleet.values import SnapshotMark
from spool.host.external_command import checked
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import QUIET
from spool.host.git.working_tree import GitWorktree
from spool.host.git.workspaces.clones import KEPT, RECORD, Clone, clone_repository, own_environment
from spool.host.git.workspaces.transport import CLONE_S, fetch_commits
from spool.host.state.files import replace_file
from spool.host.state.records import exactly
from spool.nofollow import make_folder

_TAKEN = "refs/spool/fleet/taken"


async def lay_out(
    home: Path, store: SnapshotStore, snapshot: StoredSnapshot, *, name: str, sandboxed: bool, timeout_s: float
) -> Clone:
    """Make a clone with the commits and the working tree of a snapshot, and with its checkpoint if it has one."""
    parents = await parents_of(store, snapshot)
    top = home / f"{name}-{snapshot.mark.change}"
    make_folder(home / KEPT)
    make_folder(top)
    await _init(top, store, snapshot.mark, parents.head)
    clone = Clone(
        id=snapshot.mark.workspace,
        change=snapshot.mark.change,
        repository=str(store.path),
        folder=top.name,
        branch=branch_of_change(snapshot.mark.change),
        base=snapshot.mark.base,
        object_format=store.object_format,
        sandboxed=sandboxed,
        ready=True,
    )
    replace_file(home / RECORD, exactly(clone))
    await _lay_trees(home, clone, store, snapshot, parents, timeout_s)
    await refresh_index(top, own_environment())
    return clone


async def parents_of(store: SnapshotStore, snapshot: StoredSnapshot) -> Parents:
    """Return what the tree commit of a snapshot is made of."""
    try:
        return decoded(await store.message_of(snapshot.tree_commit), Parents)
    except msgspec.MsgspecError:
        raise StateError(f"the snapshot of '{snapshot.mark.change}' names no working tree") from None


async def _init(top: Path, store: SnapshotStore, mark: SnapshotMark, head: str) -> None:
    branch = f"refs/heads/{branch_of_change(mark.change)}"
    name, address = mark.author
    for words in (
        ("init", "--quiet", "--template=", f"--object-format={store.object_format}"),
        ("symbolic-ref", "HEAD", branch),
        *([("config", "--local", "user.name", name)] if name else []),
        *([("config", "--local", "user.email", address)] if address else []),
    ):
        await _git(top, *words)
    await fetch_commits(store.path, top / ".git", commit=head, ref=branch)


async def _lay_trees(
    home: Path, clone: Clone, store: SnapshotStore, snapshot: StoredSnapshot, parents: Parents, timeout_s: float
) -> None:
    repository = clone_repository(home, clone)
    shadow = GitWorktree(repository, timeout_s=timeout_s).recorder.shadow
    await shadow.prepare()
    await fetch_commits(store.path, shadow.git_dir, commit=snapshot.tree_commit, ref=_TAKEN)
    if parents.checkpoint:
        at = (await shadow.git("rev-parse", f"{parents.checkpoint}^1")).decode().strip()
        await _git(repository.top, "update-ref", "HEAD", at)
        await write_tree(shadow, f"{parents.checkpoint}^{{tree}}", first=True)
        await refresh_index(repository.top, own_environment())
        checkpoints = Checkpoints(repository, clone.change, now=lambda: datetime.now(UTC), timeout_s=timeout_s)
        await checkpoints.save(f"story {snapshot.mark.story}, on another host")
        await _git(repository.top, "update-ref", "HEAD", parents.head)
    await write_tree(shadow, f"{snapshot.tree_commit}^{{tree}}", first=not parents.checkpoint)


async def _git(top: Path, *words: str) -> None:
    env = own_environment() | {"GIT_CEILING_DIRECTORIES": os.fspath(top.parent)}
    await checked(["git", *QUIET, *words], directory=top, timeout_s=CLONE_S, env=env)
