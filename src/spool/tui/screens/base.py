"""What all screens share: help, themes, and leaving."""

import gc
from typing import ClassVar, TypeVar

from textual import on
from textual.binding import Binding, BindingType
from textual.screen import Screen

from spool.app.client import Client
from spool.errors import SpoolError
from spool.tui.screens.help import SUSPEND, HelpScreen
from spool.tui.widgets.key_line import KeyLine

_Answer = TypeVar("_Answer")


def spare_what_lives_long() -> None:
    """Keep the garbage collector away from what is there now: a full round over it took 50 to 100 ms at 10,000 events
    a second, which is longer than a key press may take."""
    gc.unfreeze()  # what an earlier screen left can go
    gc.collect()
    gc.freeze()


class KeyedScreen(Screen[_Answer]):
    """A screen that knows its own keys."""

    KEYS: ClassVar[tuple[tuple[str, str], ...]] = ()
    """What the help says of this screen's own keys."""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-medium"), (120, "-wide")]  # noqa: RUF012 - Textual's own form
    AUTO_FOCUS = ""  # each screen says itself where the keys go; Textual would open the first tab with its focus
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("t", "app.theme", "Theme", show=False),
        Binding("ctrl+c", "leave", "Leave", show=False, priority=True),
        SUSPEND,
    ]

    @property
    def is_there(self) -> bool:
        """Whether there is anything left to show something on: an answer may come after the screen has gone."""
        return self.is_attached and self.is_running and bool(self.children)

    def action_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(HelpScreen(self.KEYS))

    @on(KeyLine.Pressed)
    async def _pressed(self, event: KeyLine.Pressed) -> None:
        await self.run_action(event.action)

    def action_leave(self) -> None:
        """Quit; the loop screen stops its loop instead."""
        self.app.exit()


class SpoolScreen(KeyedScreen[None]):
    """A screen that reaches the machine through its client."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client

    def complain(self, error: SpoolError | OSError) -> None:
        """Tell what went wrong, and what to do about it."""
        hint = error.hint if isinstance(error, SpoolError) else ""
        self.notify(f"{error}\n{hint}".strip(), severity="error", timeout=8)
