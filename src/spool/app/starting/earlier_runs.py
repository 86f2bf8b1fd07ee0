"""Reads what earlier runs left, and registers how runs end."""

import os
from contextlib import suppress

import msgspec

from spool.app.observing.notices import report_killed
from spool.domain.loop.summary import DIED, LoopSummary, summarized
from spool.domain.loop.verdict import Status
from spool.errors import SpoolError
from spool.host.clock import SystemClock
from spool.host.state.loop_store import StateFolder
from spool.host.state.run_registry import this_machine
from spool.host.terminals import NONE, TMUX


def last_session(folder: StateFolder, harness: str) -> str:
    """Return the agent's conversation from an earlier run.

    The history is in the working tree, and the session becomes a word of the agent's command: never an option.
    """
    last = folder.history(last=1)
    return last[0].session if last and last[0].harness == harness and not last[0].session.startswith("-") else ""


def settle_killed(folder: StateFolder) -> None:
    """Register the end of the previous run if it was killed; its state is overwritten next."""
    with suppress(SpoolError, OSError):
        state = folder.load()
        known = this_machine().find(state.run_id) if state else None
        if state is None or known is None or known.reason != DIED:
            return
        report_killed([known])
        this_machine().enter(
            msgspec.structs.replace(
                summarized(state),
                ended_at=max(folder.active_at() or state.updated_at, state.started_at),
                status=Status.STOPPED,
                reason="its runner died; a later run continued",
            )
        )


def final_summary(folder: StateFolder, loop: LoopSummary, why: str) -> LoopSummary:
    """Return the final summary of a run: from its state, or with the error that ended it."""
    if (state := folder.of_run(loop.run_id)) is not None:
        loop = summarized(state)
    if loop.status is not Status.RUNNING:
        return loop
    return msgspec.structs.replace(loop, status=Status.STOPPED, reason=why, ended_at=SystemClock().now())


def terminal_pid(terminal: str) -> int:
    """Return the pid of this process's window: its parent, without a shell in between.

    Under tmux and in the background it is this process itself.
    """
    return os.getpid() if terminal.partition(":")[0] in ("", TMUX, NONE) else os.getppid()
