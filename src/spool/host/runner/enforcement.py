"""Ends a runner that may not respond: `python -m spool.host.runner.enforcement PID START_TIME`.

It runs in the background after the user forces the screen to close. A second SIGTERM makes the runner kill its agent
and record the outcome; if the runner is still there after 2 s, it is killed, and its supervisor ends the agent.
"""

import signal
import sys
import time

from spool.host.agents.sweep import signal_exactly
from spool.host.runner.identity import start_time

_GRACE_S = 2.0


def enforce(pid: int, started: str) -> None:
    """Send SIGTERM twice, wait 2 s, send SIGKILL."""
    for signum in (signal.SIGTERM, signal.SIGTERM, signal.SIGCONT):  # the second one makes it kill its agent
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
