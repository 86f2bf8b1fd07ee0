"""The help: every key that works here."""

from collections.abc import Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

_EVERYWHERE = (
    ("?", "this help"),
    ("t", "the other theme, light or dark"),
    ("Ctrl-Z", "back to the shell; fg comes back"),
)


SUSPEND = Binding("ctrl+z", "app.suspend_process", "Suspend", show=False, priority=True)


class HelpScreen(ModalScreen[None]):
    """Shows keys over the screen that they belong to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "app.pop_screen", "Close"),
        SUSPEND,
    ]

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = [*keys, *_EVERYWHERE]

    def compose(self) -> ComposeResult:
        """Make the table of keys."""
        table = Table.grid(padding=(0, 2))
        for key, meaning in self._keys:
            table.add_row(Text(key, "bold cyan"), Text(meaning))
        with VerticalScroll(id="help"):
            yield Static("Keys (Esc closes this)", classes="heading", markup=False)
            yield Static(table)
