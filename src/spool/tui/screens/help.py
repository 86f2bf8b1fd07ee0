"""The help: every key that works here."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

_EVERYWHERE = (
    ("?", "this help"),
    ("t", "the other theme, light or dark"),
    ("Up, Down, PgUp, PgDn", "scroll"),
)


class HelpScreen(ModalScreen[None]):
    """Shows keys over the screen that they belong to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "app.pop_screen", "Close"),
    ]

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = [*keys, *_EVERYWHERE]

    def compose(self) -> ComposeResult:
        """Make the table of keys."""
        width = max(len(key) for key, _ in self._keys)
        text = Text("Keys\n\n", style="bold")
        for key, meaning in self._keys:
            text.append(f"{key:<{width}}  ", "bold cyan")
            text.append(f"{meaning}\n", "not bold")
        text.append("\nEsc closes this.", "dim not bold")
        with VerticalScroll(id="help"):
            yield Static(text)
