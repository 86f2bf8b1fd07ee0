"""Restores the terminal even if the screen is killed: a small shell waits for that and resets the modes."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# The screen itself restores the terminal in every case but SIGKILL. Then the pipe closes without "bye", and the shell
# makes typed lines work again, turns off the keyboard protocol, the mouse, focus reports, bracketed paste and in-band
# resizes, and leaves the alternate screen: a terminal that looks restored obeys already. A shell rather than a fork: it
# is smaller, and killing `spool tui` by name does not kill it.
_MODES = r"\033[<u\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?1015l\033[?1004l\033[?2004l\033[?2048l\033[?7h"
_SCRIPT = rf"""
trap '' HUP INT QUIT TERM TSTP TTIN TTOU
read -r bye && exit 0
stty "$1" </dev/tty
printf '{_MODES}\033[?25h\033[?1049l\033[0m' >/dev/tty
printf '\r\nThe screen was killed; running loops continue. Reopen it with: spool tui\r\n' >/dev/tty
"""


@contextmanager
def guarded_terminal() -> Iterator[None]:
    """Restore the terminal if this process is killed inside the context."""
    saved = subprocess.run(["stty", "-g"], capture_output=True, text=True, check=False).stdout.strip()
    ours, theirs = os.pipe()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "spool-guard", saved or "sane"],
            stdin=ours,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,  # keeps Ctrl-Z and other terminal signals away
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
