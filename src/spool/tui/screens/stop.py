"""Asks before a loop that was started elsewhere is stopped."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import one_line
from spool.tui.screens.help import SUSPEND
from spool.tui.widgets.line import PlainLine


class StopScreen(ModalScreen[bool]):
    """A small window with the two answers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Stop"),
        Binding("escape,n,q,ctrl+c", "dismiss(False)", "Cancel", priority=True),
        SUSPEND,
    ]

    def __init__(self, loop: LoopSummary, *, pending: bool) -> None:
        super().__init__()
        self._loop = loop
        self._pending = pending

    def compose(self) -> ComposeResult:
        """Create the window."""
        name = one_line(self._loop.change, 40)
        started = f"It was started elsewhere: {self._loop.door}, pid {self._loop.runner.pid}."
        with Vertical(id="stop"):
            yield PlainLine(f"{name} is stopping. Kill it?" if self._pending else f"Stop {name}?", classes="heading")
            yield PlainLine(started)
            yield PlainLine("y: kill it and its agent" if self._pending else "y: stop it; its work is kept")
            yield PlainLine("Esc: leave it running", classes="hint")
