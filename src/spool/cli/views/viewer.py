"""Follows the journal in a thread of its own: a slow, stopped or dead reader of our output harms no loop."""

import os
import sys
import threading
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from spool.domain.events import Event, RunEnded
from spool.host.state.journal import JournalReader

_TICK_S = 0.5
_INTERRUPTED = 130


class View(Protocol):
    """Shows events to a person."""

    def show(self, event: Event) -> None:
        """Show one event."""
        ...

    def tick(self) -> None:
        """Time has passed."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


class Viewer:
    """The thread between the journal and a view."""

    def __init__(self, journal: Path, offset: int, view: View, *, prints: bool = True) -> None:
        self._reader = JournalReader(journal, offset=offset)
        self._view = view
        self._prints = prints
        self._grown = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._follow, name="view", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._grown.set()
        try:
            self._thread.join()
        except KeyboardInterrupt:
            # Nobody takes what the thread writes. All is saved, and Python's own way out would wait for the thread's
            # hold on standard output, and then abort.
            os._exit(_INTERRUPTED)

    def notice(self) -> None:
        """Something was written."""
        self._grown.set()

    def _follow(self) -> None:
        try:
            self._show_all()
            self._view.close()
        except OSError as error:
            # The reader went away: the view ends, the loop does not. What Python still holds must not complain at exit.
            if self._prints:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):
                with suppress(OSError):  # a closed terminal takes no complaint either
                    print(f"spool: nothing more can be shown: {error.strerror}", file=sys.stderr)

    def _show_all(self) -> None:
        while True:
            self._grown.wait(_TICK_S)
            self._grown.clear()
            over = self._over
            for event in self._reader.read():
                self._view.show(event)
                if isinstance(event, RunEnded):
                    return
            if over:
                return
            self._view.tick()


class Show(Enum):
    """What is shown of a running loop."""

    STREAM = auto()
    RESULTS = auto()
    JSON = auto()
    NOTHING = auto()


def make_view(show: Show, *, verbose: bool, title: str = "") -> View:
    """Return the view that fits what was asked for and where the output goes; `title` asks for a window title."""
    if show is Show.JSON:
        from spool.cli.views.lines import JsonView

        return JsonView()
    if show is Show.STREAM and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        from spool.cli.views.live import LiveView

        return LiveView(verbose=verbose, title=title)
    from spool.cli.views.lines import PlainView

    return PlainView(stream=show is Show.STREAM, verbose=verbose)
