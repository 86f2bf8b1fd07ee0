"""Runs a loop that another process started: `python -m spool.cli.child TICKET`."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from spool.app.starting.launch import report_failure, take_ticket
from spool.cli.edge import flush_streams, guarded, load_asyncio, replace_unencodable
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind
from spool.domain.loop.verdict import ExitCode
from spool.errors import SpoolError
from spool.views.hints import next_step
from spool.views.say import say


class Tee:
    """Writes to standard error and to the loop's log."""

    def __init__(self, screen: TextIO, root: Path) -> None:
        self._screen = screen
        self._root = root
        self.encoding = screen.encoding

    def write(self, text: str) -> int:
        """Write to the log, and to the screen while it is open."""
        from spool.app.loops.log_files import append_log

        append_log(self._root, text)
        with suppress(OSError, ValueError):
            self._screen.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the screen."""
        with suppress(OSError, ValueError):
            self._screen.flush()

    def isatty(self) -> bool:
        """Whether the screen is a terminal."""
        return self._screen.isatty()


def main() -> int:
    """Run the loop that a ticket describes."""
    replace_unencodable()
    code = guarded(lambda: _run(take_ticket(Path(sys.argv[1]))))
    flush_streams()  # the window may be gone
    return code


def _run(spec: LoopSpec) -> int:
    in_worktree = spec.door is LoopKind.WORKTREE
    if in_worktree:
        sys.stderr = Tee(sys.stderr, Path(spec.root))
    load_asyncio()
    from spool.cli.options.loop_start import run_here

    try:
        os.chdir(spec.root)
        code = run_here(spec)
    except Exception as error:
        hint = next_step(error) if isinstance(error, SpoolError) else ""
        report_failure(spec, "; ".join(part for part in (str(error) or type(error).__name__, hint) if part))
        raise
    if in_worktree and spec.settings.keep_open and code != ExitCode.INTERRUPTED and sys.stdin.isatty():
        _hold()
    return code


def _hold() -> None:
    """Keep the window open until Enter, so that the result can be read."""
    say("", "The loop has ended. Press Enter to close this window.")
    with suppress(OSError, KeyboardInterrupt):
        sys.stdin.readline()


if __name__ == "__main__":
    sys.exit(main())
