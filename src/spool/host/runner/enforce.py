"""Ends a runner that may not want to end: `python -m spool.host.runner.enforce PID START_TIME`.

A person who forces the screen shut does not wait for this. The runner is asked once more, which kills its agent at
once and lets it write down what happened; one that does not leave is killed, and its supervisor ends the agent.
"""

import signal
import sys
import time

from spool.host.agents.sweep import signal_exactly
from spool.host.runner.identity import start_time

_GRACE_S = 2.0


def enforce(pid: int, started: str) -> None:
    """Ask, wait a little, kill."""
    for signum in (signal.SIGTERM, signal.SIGTERM, signal.SIGCONT):  # the second request is the one that forces
        signal_exactly(pid, started, signum)
        time.sleep(0.05)
    give_up_at = time.monotonic() + _GRACE_S
    while start_time(pid) == started:
        if time.monotonic() > give_up_at:
            signal_exactly(pid, started, signal.SIGKILL)
            return
        time.sleep(0.02)


if __name__ == "__main__":
    enforce(int(sys.argv[1]), sys.argv[2])
