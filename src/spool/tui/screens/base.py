"""The base of all screens: help, themes and quitting."""

import gc
from typing import ClassVar, TypeVar

from textual import on
from textual.binding import Binding, BindingType
from textual.screen import Screen

from spool.app.loops.client import Client
from spool.errors import SpoolError
from spool.tui.screens.help import SUSPEND, HelpScreen
from spool.tui.widgets.key_line import KeyLine
from spool.views.hints import next_step

_Answer = TypeVar("_Answer")


def freeze_live_objects() -> None:
    """Exclude the current objects from garbage collection: a full collection took 50 to 100 ms at 10,000 events per
    second, which is longer than a key press may take."""
    gc.unfreeze()  # free what an earlier screen left
    gc.collect()
    gc.freeze()


class KeyedScreen(Screen[_Answer]):
    """A screen with keys and help."""

    KEYS: ClassVar[tuple[tuple[str, str], ...]] = ()
    """This screen's keys and their help."""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-medium"), (120, "-wide")]  # noqa: RUF012 - Textual's own form
    AUTO_FOCUS = ""  # each screen sets its own focus; Textual's would open the first tab
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("t", "app.theme", "Theme", show=False),
        Binding("ctrl+c", "leave", "Leave", show=False, priority=True),
        SUSPEND,
    ]

    @property
    def is_there(self) -> bool:
        """Whether the screen can still be updated: a result may arrive after it has closed.

        `display` is false as soon as Textual starts to remove the widgets, the innermost first.
        """
        return self.is_attached and self.is_running and self.display and bool(self.children)

    def action_help(self) -> None:
        """Show the help."""
        self.app.push_screen(HelpScreen(self.KEYS))

    @on(KeyLine.Pressed)
    async def _pressed(self, event: KeyLine.Pressed) -> None:
        await self.run_action(event.action)

    def action_leave(self) -> None:
        """Quit; the loop screen stops a loop that it started instead."""
        self.app.exit()


class SpoolScreen(KeyedScreen[None]):
    """A screen that reaches the machine through its client."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client

    def complain(self, error: SpoolError | OSError) -> None:
        """Show an error and its hint."""
        hint = next_step(error) if isinstance(error, SpoolError) else ""
        self.notify(f"{error}\n{hint}".strip(), severity="error", timeout=8)
