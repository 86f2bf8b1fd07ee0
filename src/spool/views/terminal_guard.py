"""Gives the terminal back even if the screen is killed: a small shell waits beside it and restores what it left."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# The screen itself restores the terminal in every case but SIGKILL. Then the pipe closes without a word, and the shell
# turns off the keyboard protocol, the mouse, focus reports, bracketed paste and in-band resizes, and leaves the
# alternate screen. A shell and not a fork: it is smaller, and whoever kills `spool tui` by name does not hit it.
_MODES = r"\033[<u\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?1015l\033[?1004l\033[?2004l\033[?2048l\033[?7h"
_SCRIPT = rf"""
trap '' HUP INT QUIT TERM TSTP TTIN TTOU
read -r bye && exit 0
printf '{_MODES}\033[?25h\033[?1049l\033[0m' >/dev/tty
stty "$1" </dev/tty
printf '\r\nThe screen was killed; running loops continue. Look at them again with: spool tui\r\n' >/dev/tty
"""


@contextmanager
def guarded_terminal() -> Iterator[None]:
    """Have the terminal restored if this process is killed before the context ends."""
    saved = subprocess.run(["stty", "-g"], capture_output=True, text=True, check=False).stdout.strip()
    ours, theirs = os.pipe()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "spool-guard", saved or "sane"],
            stdin=ours,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-Z and the like are for the screen
        )
    finally:
        os.close(ours)
    try:
        yield
    finally:
        with suppress(BrokenPipeError):
            os.write(theirs, b"bye\n")
        os.close(theirs)
        process.wait()
