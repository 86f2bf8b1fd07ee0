"""Stops a verified runner from another process: SIGTERM, SIGTERM again, SIGKILL."""

import os
import select
import signal
import time

from spool.domain.loop.summary import Runner
from spool.host.agents.sweep import signal_exactly
from spool.host.runner.identity import is_alive

ASKED_S = 8.0
"""Seconds after the first SIGTERM: stopping the agent takes up to 3 s, recording the iteration a little more."""
FORCED_S = 4.0
"""Seconds after the second SIGTERM, which makes the runner kill its agent."""
KILLED_S = 2.0
"""Seconds after SIGKILL, in which the supervisor ends the remaining processes."""
_STEPS = ((signal.SIGTERM, ASKED_S), (signal.SIGTERM, FORCED_S), (signal.SIGKILL, KILLED_S))


def stop_runner(runner: Runner) -> bool:
    """Stop a runner that is still alive and wait for it; return whether it is gone."""
    for signum, patience_s in _STEPS:
        if not is_alive(runner):
            return True
        signal_exactly(runner.pid, runner.start_time, signum)
        if wait_for_end(runner, patience_s):
            return True
    return not is_alive(runner)


def wait_for_end(runner: Runner, seconds: float) -> bool:
    """Wait up to `seconds` for a runner to exit; return whether it has."""
    try:
        handle = os.pidfd_open(runner.pid)
    except (OSError, AttributeError):
        return _poll(runner, seconds)
    try:
        if not is_alive(runner):  # the pid may have been reused
            return True
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def _poll(runner: Runner, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_alive(runner):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
