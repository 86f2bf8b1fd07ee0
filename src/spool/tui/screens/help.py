"""The help: the keys of a screen."""

from collections.abc import Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from spool.views.look import Role

_EVERYWHERE = (
    ("?", "show this help"),
    ("t", "switch between light and dark"),
    ("Ctrl-Z", "suspend; fg resumes"),
)


SUSPEND = Binding("ctrl+z", "app.suspend_process", "Suspend", show=False, priority=True)


class HelpScreen(ModalScreen[None]):
    """Shows the keys on top of their screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "app.pop_screen", "Close"),
        SUSPEND,
    ]

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = [*keys, *_EVERYWHERE]

    def compose(self) -> ComposeResult:
        """Create the table of keys."""
        table = Table.grid(padding=(0, 2))
        for key, meaning in self._keys:
            table.add_row(Text(key, Role.RUNNING.style), Text(meaning))
        with VerticalScroll(id="help"):
            yield Static("Keys (Esc to close)", classes="heading", markup=False)
            yield Static(table)
