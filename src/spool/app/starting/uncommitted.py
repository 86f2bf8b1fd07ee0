"""Refuses to start a loop that commits on a tree with uncommitted changes: they would be committed as the agent's."""

import asyncio
import os
from pathlib import Path

from spool.app.starting.construction import open_project, open_worktree
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.state import LoopState
from spool.domain.text.plain_text import one_line
from spool.errors import Hint, UsageError
from spool.host.git.merging import merged_now
from spool.host.git.repository import NoRepository, Repository
from spool.host.git.workspaces.opening import open_workspace
from spool.host.state.loop_store import StateFolder

_NAMED = 5


def refuse_dirty_now(spec: LoopSpec) -> None:
    """Refuse before another process is started for the loop."""

    async def check() -> None:
        timeout_s = spec.settings.command_timeout
        repository = await open_workspace(Path(spec.root), spec.workspace, timeout_s=timeout_s)
        await refuse_dirty(spec, repository, StateFolder(Path(spec.folder)).load())

    asyncio.run(check())


async def refuse_dirty(spec: LoopSpec, repository: Repository | NoRepository, earlier: LoopState | None) -> None:
    """Raise a UsageError that names the files; the written change and what an earlier run left are allowed.

    So is anything in a clone, where only agents work.
    """
    settings = spec.settings
    if settings.include_dirty or isinstance(repository, NoRepository) or repository.is_clone:
        return
    if not (settings.auto_commit or settings.commit_stories):
        return
    if spec.errand and await merged_now(repository, timeout_s=settings.command_timeout) == spec.errand.onto:
        return  # an earlier run began the merge
    tree = open_worktree(repository, settings)
    found = await tree.dirty(_written(spec, repository))
    if not found:
        return
    if earlier is not None and earlier.memory.fingerprint and await tree.fingerprint() == earlier.memory.fingerprint:
        return
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    named = ", ".join(one_line(name, 100) for name in found[:_NAMED])
    raise UsageError(f"uncommitted changes would be committed as the agent's: {named}{more}", hint=Hint.INCLUDE_DIRTY)


def _written(spec: LoopSpec, repository: Repository) -> list[str]:
    """Return the paths of the written change, from the top of the working tree."""
    root, project = Path(spec.directory), open_project(spec)
    paths = [*project.paths_of(spec.change), root / "tasks.md"]
    return [os.path.relpath(path, repository.top) for path in paths]
