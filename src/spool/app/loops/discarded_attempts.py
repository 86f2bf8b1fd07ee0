"""Lists, shows and restores the checkpoints and discarded attempts of the current working tree."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from spool.app.starting.effective_settings import resolve_settings
from spool.domain.loop.checkpoint import Checkpoint, Discarded
from spool.errors import SpoolError
from spool.host.clock import SystemClock
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.checkpoints.pace import Pace, paced
from spool.host.git.repository import NoRepository, Repository, find_repository
from spool.host.state.lock import TreeWork, held_for

_Result = TypeVar("_Result")
_BY_HAND = "by hand"


def list_accepted() -> list[Discarded]:
    """Return where accepted stories began, as long as another story has begun since."""
    return _use(lambda checkpoints: checkpoints.discarded(accepted=True))


def list_all() -> tuple[list[Checkpoint], list[Discarded]]:
    """Return the checkpoints of loops, and the discarded attempts."""

    async def both(checkpoints: Checkpoints) -> tuple[list[Checkpoint], list[Discarded]]:
        return await checkpoints.saved(), await checkpoints.discarded()

    return _use(both)


def find_due() -> str | None:
    """Return the change or the discarded attempt whose restore was cut short."""
    return _use(lambda checkpoints: checkpoints.cut_short())


async def finish_due(repository: Repository, *, timeout_s: float) -> str:
    """Finish a restore that was cut short, in a tree whose lock is held; return a sentence about it, or nothing."""
    checkpoints = Checkpoints(repository, _BY_HAND, now=SystemClock().now, timeout_s=timeout_s)
    if (due := await checkpoints.cut_short()) is None:
        return ""
    kept = await checkpoints.finish()
    return f"the restore of {due} had been cut short, and is finished" + (f"; {kept.name} is kept" if kept else "")


def show(name: str) -> str:
    """Return the files that a discarded attempt changed."""
    return _use(lambda checkpoints: checkpoints.show(name))


def diff(name: str) -> str:
    """Return a discarded attempt as a patch."""
    return _use(lambda checkpoints: checkpoints.diff(name))


def restore(name: str, pace: Pace) -> Discarded | None:
    """Restore a discarded attempt; return the previous tree, saved as a discarded attempt.

    `pace` is called with how far the work is, if the tree is large.
    """
    with paced(pace):
        return _use(lambda checkpoints: checkpoints.restore(name), lock=True)


def _use(work: Callable[[Checkpoints], Coroutine[Any, Any, _Result]], *, lock: bool = False) -> _Result:
    """Run `work` on the checkpoints of the working tree that contains the current directory."""

    async def main() -> _Result:
        settings, clock = resolve_settings(None).settings, SystemClock()
        repository = await find_repository(Path.cwd(), timeout_s=settings.command_timeout)
        if isinstance(repository, NoRepository):
            raise SpoolError(f"no checkpoints here: {repository.why}")
        checkpoints = Checkpoints(repository, _BY_HAND, now=clock.now, timeout_s=settings.command_timeout)
        if not lock:
            return await work(checkpoints)
        with held_for(TreeWork.RESTORE, repository.spool_dir / "locks", repository.top):
            return await work(checkpoints)

    return asyncio.run(main())
