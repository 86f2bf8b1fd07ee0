"""A field with a few fixed choices."""

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget

from spool.domain.text.plain_text import one_line


class Picker(Widget, can_focus=True):
    """Shows one of its choices; Left and Right change it."""

    DEFAULT_CSS = """
    Picker { height: 1; width: 1fr; padding: 0 1; }
    Picker:focus { background: $surface; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space,enter", "turn(1)", "Next", show=False),
        Binding("left", "turn(-1)", "Previous", show=False),
    ]

    class Changed(Message):
        """Another choice was made."""

    def __init__(self, choices: list[str], value: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._choices = choices if value in choices else [value, *choices]
        self.value = value

    def render(self) -> Text:
        """Return the choice, its number, and the keys that change it."""
        at = f"{self._choices.index(self.value) + 1} of {len(self._choices)}"
        return Text.assemble(("‹ ", "dim"), one_line(self.value, 40), (f" ›  {at}", "dim"), no_wrap=True)  # noqa: RUF001

    def action_turn(self, by: int) -> None:
        """Pick the next or previous choice."""
        self.value = self._choices[(self._choices.index(self.value) + by) % len(self._choices)]
        self.refresh()
        self.post_message(self.Changed())

    def on_click(self) -> None:
        """Pick the next choice."""
        self.action_turn(1)
