"""Restores a working tree to where a story or a run began, without an agent."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.app.changes.resolver import require_loop
from spool.app.loops.loop_list import latest_of_each
from spool.app.loops.reach import reach_of
from spool.app.machine.trusted_settings import require_person
from spool.app.starting.effective_settings import resolve_settings
from spool.domain.loop.checkpoint import Beginning, Begun, Discarded, Undo
from spool.domain.loop.summary import LoopKind, LoopSummary, state_path
from spool.errors import Hint, SpoolError, UsageError
from spool.host.clock import SystemClock
from spool.host.git.checkpoints.beginnings import Beginnings
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.checkpoints.pace import Pace, paced
from spool.host.git.repository import NoRepository, Repository, find_repository
from spool.host.git.workspaces.opening import open_workspace
from spool.host.state.lock import TreeWork, held_for
from spool.host.state.loop_store import StateFolder

Agree = Callable[[Undo], bool]


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an undo."""

    plan: Undo
    done: bool
    """Whether the tree was brought back: it may have been there already, or nobody agreed."""
    kept: Discarded | None = None
    """The tree that was replaced."""


class _Ground(msgspec.Struct, frozen=True, kw_only=True):
    """The working tree of a loop."""

    repository: Repository
    locks: Path
    root: Path
    change: str = ""
    """Empty for the loop that ran here last."""


def undo(name: str | None, *, run: bool, agrees: Agree, pace: Pace) -> Undone:
    """Restore a tree to where the story began, or the run, if `agrees` to what would change.

    `pace` is called with how far the work is, if the tree is large.
    """
    require_person("undo")
    with paced(pace):
        return asyncio.run(_undo(name, run=run, agrees=agrees))


async def _undo(name: str | None, *, run: bool, agrees: Agree) -> Undone:
    settings, clock = resolve_settings(None).settings, SystemClock()
    timeout_s = settings.command_timeout
    ground = await _ground(name, timeout_s=timeout_s)

    def beginnings(change: str) -> Beginnings:
        large, now = settings.large_file_mb << 20, clock.now
        kept = Checkpoints(ground.repository, change, now=now, timeout_s=timeout_s, large_file_bytes=large)
        return Beginnings(kept, now=now)

    with held_for(TreeWork.UNDO, ground.locks, ground.repository.top, change=ground.change):
        await beginnings(ground.change or "undo").finish_cut_short()
        begun = _meant(await beginnings(ground.change or "undo").all(), ground, run=run)
        here, spans = beginnings(begun.change), list(_spans(_root(ground, begun.change), begun.change))

        def own(time: float) -> bool:
            return any(start <= time <= end for start, end in spans)

        plan = await here.preview(begun.what, own)
        if not plan.needed or not agrees(plan):
            return Undone(plan=plan, done=False)
        return Undone(plan=plan, done=True, kept=await here.undo(begun.what, own))


async def _ground(name: str | None, *, timeout_s: float) -> _Ground:
    """Return the tree of a named loop, or else the one around the current directory."""
    reach = reach_of()
    if name is None:
        return await _open(Path.cwd(), None, timeout_s=timeout_s)
    return await _open(Path.cwd(), require_loop(name, reach), timeout_s=timeout_s)


async def _open(here: Path, loop: LoopSummary | None, *, timeout_s: float) -> _Ground:
    root = Path(loop.root) if loop else here
    repository = await open_workspace(root, loop.workspace if loop else None, timeout_s=timeout_s)
    if isinstance(repository, NoRepository):
        raise SpoolError(f"there is nothing to undo with: {repository.why}", hint="only git can keep a beginning")
    home = await find_repository(root, timeout_s=timeout_s) if loop and loop.workspace else repository
    locks = (home if isinstance(home, Repository) else repository).spool_dir / "locks"
    change = loop.change if loop else ""
    return _Ground(repository=repository, locks=locks, root=root if loop else repository.top, change=change)


def _meant(begun: list[Begun], ground: _Ground, *, run: bool) -> Begun:
    """Return the beginning to go back to: of the change, or else of the run that began here last.

    A story counts while it is not accepted, and after that until another run begins.
    """
    runs = [one for one in begun if one.what is Beginning.RUN and ground.change in ("", one.change)]
    if not runs:
        what = f"no loop on '{ground.change}'" if ground.change else "no loop"
        raise UsageError(
            f"{what} has begun in {ground.repository.top}", hint=Hint.LIST_LOOPS if ground.change else Hint.NAME_CHANGE
        )
    last = max(runs, key=lambda one: one.began_at)
    stories = [one for one in begun if one.what is Beginning.STORY and one.change == last.change]
    if run or not stories or (stories[0].ended and stories[0].began_at < last.began_at):
        return last
    return stories[0]


def _root(ground: _Ground, change: str) -> Path:
    """Return the directory with the state of a change's loops."""
    if ground.change:
        return ground.root
    found = [loop for loop in latest_of_each() if loop.change == change]
    here = [loop for loop in found if Path(loop.worktree).resolve() == ground.repository.top.resolve()]
    return Path(here[-1].root) if here else ground.root


def _spans(root: Path, change: str) -> Iterator[tuple[float, float]]:
    """Yield when runs on a change began and ended; git has the times of commits in whole seconds."""
    for door in LoopKind:
        folder = StateFolder(Path(state_path(str(root), door, change)))
        with suppress(SpoolError, OSError):
            for record in folder.history():
                yield int(record.started_at.timestamp()), record.ended_at.timestamp()
            if (state := folder.load()) is not None:
                end = state.ended_at or max(state.updated_at, folder.active_at() or state.updated_at)
                yield int(state.started_at.timestamp()), end.timestamp()
