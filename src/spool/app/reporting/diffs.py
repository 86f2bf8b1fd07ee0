"""Compares what a loop recorded: checkpoints, commits and the working tree."""

from pathlib import Path

import msgspec

from spool.domain.account.history import LoopHistory
from spool.domain.account.story_history import StoryHistory
from spool.domain.loop.summary import LoopSummary
from spool.host.git.difference import FileChange, compare
from spool.host.git.heads import GitHeads
from spool.host.git.object_names import is_object_name
from spool.host.git.repository import NoRepository
from spool.host.git.workspaces.opening import open_workspace

__all__ = ["Diff", "FileChange", "diff_between", "diff_of_story"]


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """The changes since a checkpoint."""

    files: tuple[FileChange, ...] = ()
    note: str = ""


async def diff_between(loop: LoopSummary, tree: str, until: str, *, timeout_s: float) -> Diff:
    """Return the changes from a tree or commit to a later one, or to the working tree."""
    if not all(is_object_name(name) for name in (tree, until) if name):
        return Diff(note="no diff available: its journal names no tree")
    repository = await open_workspace(Path(loop.root), loop.workspace, timeout_s=timeout_s)
    if isinstance(repository, NoRepository):
        return Diff(note=f"no diff available: {repository.why}")
    if not tree:
        tree = await GitHeads(repository, timeout_s=timeout_s).head()
    return Diff(files=tuple(await compare(repository, tree, until, timeout_s=timeout_s)))


async def diff_of_story(loop: LoopSummary, history: LoopHistory, story: StoryHistory, *, timeout_s: float) -> Diff:
    """Return what a story changed: by its commits, else by its checkpoints, else what is not committed."""
    if not story.attempts:
        return Diff(note="not started")
    if story.commits:
        return await diff_between(loop, f"{story.commits[0]}^", story.commits[-1], timeout_s=timeout_s)
    if story.since:
        return await diff_between(loop, story.since, story.until, timeout_s=timeout_s)
    if not history.whole:
        return Diff(note="its checkpoint is gone, so only the names of changed files are known")
    return await diff_between(loop, "", "", timeout_s=timeout_s)
