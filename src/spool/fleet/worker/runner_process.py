"""Runs one loop for a worker: `python -m spool.fleet.worker.runner_process DESCRIPTOR SPEC PARENT`."""

import ctypes
import os
import signal
import socket
import sys
from functools import partial
from pathlib import Path

from spool.app.starting.runner import run
from spool.domain.loop.spec import LoopSpec
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError
from spool.fleet.worker.link import tie
from spool.host.state.records import restored
from spool.nofollow import read_file

_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Run the loop of a spec, tied to the worker at the other end of a socket, and return the exit code."""
    descriptor, path, parent = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    if not dies_with(parent):
        return int(SpoolError.exit_code)
    line = socket.socket(fileno=descriptor)
    line.set_inheritable(False)  # no agent speaks for its runner
    line.setblocking(False)
    try:
        return int(run(restored(read_file(path), LoopSpec), tie=partial(tie, line)).exit_code)
    except SpoolError as error:
        from spool.views.say import say

        say(f"spool: {one_line(error.advice, 2_000)}", err=True)
        return error.exit_code


def dies_with(parent: int) -> bool:
    """Have the kernel kill this process when the worker dies; return whether the worker is still there.

    Its supervisor ends the agents then. Where there is no such call (macOS), the next request finds the worker gone.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    return os.getppid() == parent


if __name__ == "__main__":
    sys.exit(main())
