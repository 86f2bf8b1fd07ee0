"""The runner of a loop in its new terminal: `python -m spool.cli.wt.child TICKET`."""

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from spool.cli.main import forgive_odd_characters, guarded
from spool.cli.wt.request import Ticket, take_on_environment, take_ticket
from spool.domain.verdict import ExitCode, Status
from spool.errors import SpoolError
from spool.host.runner.identity import this_runner
from spool.host.state.loop_book import log_text
from spool.host.state.registry import Entry, this_machine
from spool.sources.project import STATE


class Tee:
    """Standard error, of which the loop's log gets a copy."""

    def __init__(self, screen: TextIO, root: Path) -> None:
        self._screen = screen
        self._root = root
        self.encoding = screen.encoding

    def write(self, text: str) -> int:
        """Write to the log, and to the screen as long as there is one."""
        log_text(self._root, text)
        with suppress(OSError, ValueError):
            self._screen.write(text)
        return len(text)

    def flush(self) -> None:
        """Bring it to the screen."""
        with suppress(OSError, ValueError):
            self._screen.flush()

    def isatty(self) -> bool:
        """Whether the screen is a terminal."""
        return self._screen.isatty()


def main() -> int:
    """Run the loop that the ticket tells of."""
    forgive_odd_characters()
    code = guarded(lambda: _run(take_ticket(Path(sys.argv[1]))), "wt-loop")
    with suppress(OSError):  # the window may be gone
        sys.stdout.flush()
    return code


def _run(ticket: Ticket) -> int:
    take_on_environment(ticket)
    root = Path(ticket.request.worktree)
    os.chdir(root)
    sys.stderr = Tee(sys.stderr, root)
    from spool.cli.runner import run_job
    from spool.cli.wt.job import worktree_job

    try:
        code = run_job(worktree_job(ticket))
    except (SpoolError, OSError) as error:
        _tell_start(ticket, str(error))
        raise
    if ticket.keep_open and code != ExitCode.INTERRUPTED and sys.stdin.isatty():
        _hold()
    return code


def _tell_start(ticket: Ticket, reason: str) -> None:
    """Leave word for whoever waits for the loop to start, if it never came to that."""
    registry, now = this_machine(), datetime.now(UTC)
    if registry.find(ticket.run_id) is None:
        request = ticket.request
        registry.enter(
            Entry(
                run_id=ticket.run_id,
                runner=this_runner(),
                door="wt-loop",
                change=request.change_id,
                project=request.worktree,
                worktree=request.worktree,
                state=str(Path(request.worktree) / STATE / "wt-loop" / request.change_id),
                terminal=ticket.terminal,
                started_at=now,
                ended_at=now,
                status=Status.STOPPED,
                reason=reason,
            )
        )


def _hold() -> None:
    """Leave the window open, so that a person can read how it ended."""
    print("\nThis loop has ended. Enter closes the window.", flush=True)
    with suppress(OSError, KeyboardInterrupt):
        sys.stdin.readline()


if __name__ == "__main__":
    sys.exit(main())
