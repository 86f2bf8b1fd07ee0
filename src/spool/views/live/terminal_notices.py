"""Notices in the terminal of a run: a desktop notification by OSC 9, where the terminal knows it, and the bell."""

from spool.app.observing.notices import finder_of
from spool.app.observing.observers import Attention
from spool.domain.loop.events import Event
from spool.domain.loop.spec import LoopSpec
from spool.views.say import ring


class TerminalNotices:
    """Rings for each notice of a run."""

    attention = Attention()

    def __init__(self, spec: LoopSpec) -> None:
        self._finder = finder_of(spec)

    def see(self, event: Event) -> None:
        """Ring for the notices of an event."""
        for notice in self._finder.see(event):
            ring(f"Spool: {notice.title}")

    def tick(self) -> None:
        """Do nothing; budgets of time are seen with the next event."""

    def close(self) -> None:
        """Do nothing; nothing is buffered."""
