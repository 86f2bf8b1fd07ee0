"""Ends a runner that is proved to be ours, from outside: asks, waits, insists."""

import os
import select
import signal
import time

from spool.domain.loop import Runner
from spool.host.agents.sweep import signal_exactly
from spool.host.runner.identity import is_alive

ASKED_S = 8.0
"""After the first SIGTERM: the agent's own ladder takes up to three seconds, the record of the iteration some more."""
FORCED_S = 4.0
"""After the second SIGTERM, which forces the runner to kill its agent."""
KILLED_S = 2.0
"""After SIGKILL: the runner's supervisor ends what is left within this time."""
_LADDER = ((signal.SIGTERM, ASKED_S), (signal.SIGTERM, FORCED_S), (signal.SIGKILL, KILLED_S))


def stop_runner(runner: Runner) -> bool:
    """Stop a runner and wait for its end; return whether it is gone. One that is gone already is left alone."""
    for signum, patience_s in _LADDER:
        if not is_alive(runner):
            return True
        signal_exactly(runner.pid, runner.start_time, signum)
        if wait_for_end(runner, patience_s):
            return True
    return not is_alive(runner)


def wait_for_end(runner: Runner, seconds: float) -> bool:
    """Wait until that process is gone; return whether it is."""
    try:
        handle = os.pidfd_open(runner.pid)
    except (OSError, AttributeError):
        return _poll(runner, seconds)
    try:
        if not is_alive(runner):  # the pid may belong to another by now
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
