"""Finds out, before a run starts, whether somebody edited the tree that an earlier run left."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from spool.app.starting.construction import open_worktree
from spool.domain.change.workspaces import Workspace
from spool.domain.loop.settings import Settings
from spool.domain.loop.summary import LoopKind, state_path
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.difference import compare
from spool.host.git.repository import NoRepository
from spool.host.git.workspaces.opening import open_workspace
from spool.host.state.loop_store import StateFolder

_NAMED = 3


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """A tree that is not known to be the one that an earlier run left."""

    label: str
    """The checkpoint's story."""
    files: tuple[str, ...]
    """The files that differ from the checkpoint."""

    @property
    def shown(self) -> str:
        """The first files, and how many more there are."""
        more = f" and {len(self.files) - _NAMED} more" if len(self.files) > _NAMED else ""
        return ", ".join(one_line(name, 60) for name in self.files[:_NAMED]) + more


def edited_since(root: Path, change: str, settings: Settings, workspace: Workspace | None = None) -> Edited | None:
    """Return what was edited; None if there is nothing to decide: no checkpoint, no edits, or a tree as it was left."""
    return asyncio.run(find_edits(root, change, settings, workspace))


async def find_edits(root: Path, change: str, settings: Settings, workspace: Workspace | None = None) -> Edited | None:
    """Return what was edited since an earlier run of a change's stories; None if there is nothing to decide."""
    timeout_s = settings.command_timeout
    repository = await open_workspace(root, workspace, timeout_s=timeout_s)
    if isinstance(repository, NoRepository):
        return None
    checkpoints = Checkpoints(repository, change, now=lambda: datetime.now(UTC), timeout_s=timeout_s)
    left = await checkpoints.current()
    if left is None or left.half_reverted or not await checkpoints.differs(left):
        return None
    with suppress(SpoolError, OSError):
        state = StateFolder(Path(state_path(str(root), LoopKind.RUN, change))).load()
        tree = open_worktree(repository, settings)
        if state is not None and state.memory.fingerprint and await tree.fingerprint() == state.memory.fingerprint:
            return None
    changed = await compare(repository, left.tree, timeout_s=timeout_s)
    return Edited(label=one_line(left.label, 80), files=tuple(file.path for file in changed))
