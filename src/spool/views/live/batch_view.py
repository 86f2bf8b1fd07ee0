"""Views of several loops at once: plain lines, JSON lines, or lines above a table on a terminal."""

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from spool.app.loops.batch_feed import BatchView
from spool.app.starting.batch import BatchEnd
from spool.domain.account.progress import LoopProgress
from spool.domain.loop import events
from spool.domain.loop.start_order import Stand
from spool.domain.loop.verdict import ExitCode
from spool.domain.text.plain_text import clean, one_line
from spool.views import words
from spool.views.live.estimates import activity
from spool.views.live.narration import narrate
from spool.views.look import Role
from spool.views.say import say, say_json
from spool.views.tables import room, table

_WORDS: dict[int, str] = {
    ExitCode.INTERRUPTED: "stopped",
    ExitCode.STUCK: "stuck",
    ExitCode.EXHAUSTED: "stuck",
    ExitCode.NEEDS_YOU: "needs you",
    ExitCode.UNCOMMITTED: "done, not on its branch",
}


class JsonBatchView:
    """Prints each event as a JSON object on one line, with the change that it belongs to."""

    def see(self, change: str, event: events.Event) -> None:
        """Print one event."""
        fields = {"change": change, **msgspec.to_builtins(event)}
        say_json(fields)

    def say(self, change: str, text: str) -> None:
        """Print a note to standard error."""
        say(f"{change}: {text}", err=True)

    def tick(self) -> None:
        """Do nothing; printed lines need no refresh."""

    def close(self) -> None:
        """Do nothing; nothing is buffered."""


class PlainBatchView:
    """Prints what the loops do, without what their agents say, each line with its change."""

    def __init__(self, changes: Sequence[str], *, verbose: bool) -> None:
        self._width = max(map(len, changes), default=0)
        self._verbose = verbose

    def see(self, change: str, event: events.Event) -> None:
        """Print an event as lines, if it has any."""
        for told in narrate(event, verbose=self._verbose):
            self.line(change, told.text, told.style)

    def say(self, change: str, text: str) -> None:
        """Print a note."""
        self.line(change, text, Role.DIM.style)

    def line(self, change: str, text: str, style: str) -> None:  # noqa: ARG002 - a terminal has styles
        """Print one line of a change."""
        say(f"{change:<{self._width}}  {text}")
        sys.stdout.flush()

    def tick(self) -> None:
        """Do nothing; printed lines need no refresh."""

    def close(self) -> None:
        """Do nothing; nothing is buffered."""


class LiveBatchView(PlainBatchView):
    """Prints the same lines above a table with one row per loop."""

    def __init__(self, changes: Sequence[str], *, verbose: bool) -> None:
        super().__init__(changes, verbose=verbose)
        from rich.console import Console
        from rich.live import Live

        self._rows = {change: _Row() for change in changes}
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._live = Live(console=self._console, refresh_per_second=4, transient=True)
        self._live.start()
        self.tick()

    def see(self, change: str, event: events.Event) -> None:
        """Print an event above the table, and update its row."""
        self._rows[change].see(event)
        super().see(change, event)

    def line(self, change: str, text: str, style: str) -> None:
        """Print one line above the table."""
        from rich.text import Text

        shown = " ".join(clean(f"{change:<{self._width}}  {text}").split("\n"))
        self._console.print(Text(shown, style=style, no_wrap=True, overflow="ellipsis"))

    def tick(self) -> None:
        """Redraw the table."""
        from rich.text import Text

        head = ("change", "now", "for", "used")
        rows = [(change, *row.cells()) for change, row in self._rows.items()]
        lines = table(head, rows, width=self._console.width - 1, left=head, drop=("for", "used"))
        self._live.update(Text("\n".join(map(clean, lines)), no_wrap=True, overflow="ellipsis"))

    def close(self) -> None:
        """Remove the table and release the terminal."""
        self._live.stop()


class _Row:
    """The row of one loop."""

    def __init__(self) -> None:
        self._progress = LoopProgress("")
        self._said = str(Stand.WAITING)

    def see(self, event: events.Event) -> None:
        self._progress.fold(event)
        match event:
            case events.RunStarted():
                self._said = ""
            case events.StopRequested():
                self._said = "force-stopping" if event.forced else "stopping; press Ctrl-C again to force"
            case events.RunEnded():
                self._said = str(event.status)
            case events.NotStarted():
                self._said = str(Stand.SKIPPED)
            case _:
                pass

    def cells(self) -> tuple[str, str, str]:
        now = datetime.now(UTC)
        used = " ".join(words.spent(self._progress.usage))
        doing = self._said or activity(self._progress, now)
        return one_line(doing, 80), words.duration(self._progress.run_s(now)), used


def batch_view(changes: Sequence[str], *, as_json: bool, verbose: bool) -> BatchView:
    """Return the view of a batch for standard output."""
    if as_json:
        return JsonBatchView()
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        return LiveBatchView(changes, verbose=verbose)
    return PlainBatchView(changes, verbose=verbose)


def show_ends(ended: Sequence[BatchEnd], again: str) -> None:
    """Print how each loop of a batch ended, and what to do next; `again` is the command that continues."""
    head = ("change", "ended", "branch")
    rows = [(one.change, _ended(one), one.branch or "-") for one in ended]
    say("", *table(head, rows, width=room(), left=head, drop=("branch",), notes=[one.reason for one in ended]))
    if any(one.exit_code not in (ExitCode.COMPLETE, ExitCode.UNCOMMITTED) for one in ended):
        say("Continue with:", f"  {again}", err=True)
    if any(one.stand is Stand.DONE for one in ended):
        say("Land what is done and verified with:", "  spool land", err=True)


def _ended(one: BatchEnd) -> str:
    return str(one.stand) if one.stand is not Stand.FAILED else _WORDS.get(one.exit_code, "failed")
