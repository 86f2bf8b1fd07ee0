"""Stops loops and marks them as done."""

import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from spool.app.loops.loop_list import loop_at
from spool.domain.loop.summary import STATE, LoopKind, LoopSummary, summarized
from spool.domain.loop.verdict import Status
from spool.engine.gates.own_gates import BY_HAND
from spool.errors import CommandError, LockedError, StateError
from spool.host.agents.sweep import signal_exactly
from spool.host.git.checkouts import common_dir
from spool.host.runner.termination import stop_runner
from spool.host.state.lock import held, holder_of
from spool.host.state.loop_files import read_loop_file, rewrite_loop_file
from spool.host.state.loop_store import StateFolder
from spool.host.state.run_registry import note_stop, this_machine


def ask_to_stop(loop: LoopSummary, by: str) -> bool:
    """Ask a runner to stop, without waiting; return whether it was alive."""
    note_stop(loop.run_id, by)
    return signal_exactly(loop.runner.pid, loop.runner.start_time, signal.SIGTERM)


def stop_all(loops: Sequence[LoopSummary], *, by: str) -> list[bool]:
    """Stop these loops in parallel and wait; return for each whether it has exited."""
    for loop in loops:
        if loop.running:
            note_stop(loop.run_id, by)
    with ThreadPoolExecutor(max_workers=32) as pool:  # each only waits
        gone = list(pool.map(lambda loop: stop_runner(loop.runner), loops))
    for loop in loops:
        if loop.door is LoopKind.WORKTREE:
            with suppress(StateError, OSError):  # a state that cannot be read is the next start's to report
                loop_at(Path(loop.root), loop.door, loop.change)
    return gone


def call_done(loop: LoopSummary) -> None:
    """Mark a loop that has ended as done."""
    folder, now = StateFolder(Path(loop.folder)), datetime.now(UTC)
    with locked(loop):
        state = folder.load()
        if state is not None:
            done = msgspec.structs.replace(
                state, status=Status.DONE, reason=BY_HAND, updated_at=now, ended_at=state.ended_at or now
            )
            folder.save(done)
            loop = summarized(done)
            rewrite_loop_file(loop)
    this_machine().enter(loop)


def ask_to_finish(loop: LoopSummary) -> None:
    """Make a running loop end as done after this iteration."""
    StateFolder(Path(loop.folder)).mark_done()


def write_killed(loop: LoopSummary) -> None:
    """Write into the loop file that the runner of a loop was killed: it is all that other tools read."""
    # A loop file that cannot be read is the next start's to report.
    with suppress(LockedError, CommandError, StateError, OSError):
        if _says_running(loop):
            with locked(loop):
                if _says_running(loop):  # and no later run has begun
                    rewrite_loop_file(loop)


def _says_running(loop: LoopSummary) -> bool:
    file = read_loop_file(Path(loop.root))
    return file is not None and file.run_id == loop.run_id and file.status is Status.RUNNING


def locked(loop: LoopSummary) -> AbstractContextManager[None]:
    """Hold the locks of a loop that has ended."""
    root = Path(loop.root)
    places = [root, root / STATE / loop.change]
    return held(common_dir(root) / "spool" / "locks", places, holder_of(loop, datetime.now(UTC)))
