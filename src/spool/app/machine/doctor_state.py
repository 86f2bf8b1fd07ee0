"""Examines Spool's own files: locks, runs, state. Repairs rename and rewrite, and delete nothing."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from spool.app.machine.diagnosis import Diagnosis, bad, good, note
from spool.domain.loop.plan_memory import loop_in
from spool.domain.loop.summary import STATE, LoopSummary, summarized
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import counted, one_line
from spool.errors import SpoolError, UnreadableState
from spool.host.clock import SystemClock
from spool.host.git.repository import NoRepository, find_repository
from spool.host.leftovers import clear_lock, orphans, stale_locks
from spool.host.runner.identity import is_alive
from spool.host.state.files import replace_file
from spool.host.state.loop_store import StateFolder
from spool.host.state.run_registry import this_machine
from spool.nofollow import read_file

_GIT_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Case:
    """A finding, and its repair."""

    found: Diagnosis
    fix: Callable[[], bool] | None = None


def state_cases(root: Path) -> list[Case]:
    """Return what is wrong with the state of this project and of this user's runs."""
    found = [*_locks(root), *_states(root), *_guard(root), *_runs()]
    return found or [Case(good("state", "no stale locks, no orphaned runs, no damaged state"))]


def _locks(root: Path) -> Iterator[Case]:
    repository = asyncio.run(_repository(root))
    folder = root / STATE / "locks" if repository is None else repository
    for path in stale_locks(folder):
        said = note("locks", f"{path} names a runner that is gone", mend="empty the lock, which nobody holds")
        yield Case(said, partial(clear_lock, path))


async def _repository(root: Path) -> Path | None:
    found = await find_repository(root, timeout_s=_GIT_TIMEOUT_S)
    return None if isinstance(found, NoRepository) else found.spool_dir / "locks"


def _states(root: Path) -> Iterator[Case]:
    for path in sorted((root / STATE).glob("*/*/state.json")):
        folder = StateFolder(path.parent)
        try:
            state = folder.load()
        except UnreadableState as error:
            said = bad("state", str(error), mend="rename it; the loop starts over and keeps its history")
            yield Case(said, partial(_set_aside, folder))
            continue
        except (SpoolError, OSError) as error:
            yield Case(bad("state", str(error)))
            continue
        if state is not None and state.status is Status.RUNNING and not is_alive(state.runner):
            loop = summarized(state)
            said = note(
                "runs",
                f"the runner of {loop.change} ({loop.id}) died in iteration {loop.iteration}",
                f"continue it with: spool {loop.door} {loop.change}",
            )
            yield Case(said)


def _set_aside(folder: StateFolder) -> bool:
    folder.set_aside()
    return True


def _guard(root: Path) -> Iterator[Case]:
    """Find a state folder that git would add."""
    folder = root / STATE
    if folder.is_dir() and not (folder / ".gitignore").exists():
        said = bad("state", f"{folder} has no .gitignore: git would add it", mend="write one")
        yield Case(said, partial(_hide, folder / ".gitignore"))


def _hide(path: Path) -> bool:
    replace_file(path, b"*\n")
    return True


def _runs() -> Iterator[Case]:
    registry = this_machine()
    listed = registry.runs()
    died = [loop for loop in listed if loop.status is Status.STOPPED and _registered(loop) is Status.RUNNING]
    if died:
        said = note(
            "runs",
            f"{counted(len(died), 'runner')} died: {', '.join(loop.id for loop in died[:5])}",
            mend="register the end of their runs",
        )
        yield Case(said, partial(_register_ends, died))
    # Runs that are not listed are those of another home, or not to be listed: they may be alive.
    for one in orphans({loop.run_id for loop in listed if not loop.running}):
        what = f"process {one.pid} was started by a run that is gone ({one.run_id}): {one_line(one.command, 80)}"
        yield Case(bad("runs", what, f"end it yourself: kill {one.pid}"))


def _registered(loop: LoopSummary) -> Status | None:
    """Return the status as the runner itself wrote it."""
    try:
        data = read_file(this_machine().beside(loop.run_id, "json"))
        return loop_in(data, LoopSummary).status
    except (OSError, msgspec.MsgspecError):
        return None


def _register_ends(loops: list[LoopSummary]) -> bool:
    now = SystemClock().now()
    for loop in loops:
        this_machine().enter(msgspec.structs.replace(loop, ended_at=loop.ended_at or now))
    return True
