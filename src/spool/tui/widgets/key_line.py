"""The line of keys at the bottom.

Replaces Textual's Footer, which recreates a widget for every key whenever the focus moves: that took most of the time
of a key press here, and leaked memory (150 KiB per tab switch).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget


class KeyLine(Widget):
    """Shows keys and their actions; a click runs the action."""

    DEFAULT_CSS = """
    KeyLine { height: 1; dock: bottom; background: $footer-background; color: $footer-foreground; padding: 0 1; }
    """

    @dataclass
    class Pressed(Message):
        """A key was clicked."""

        action: str

    def __init__(self, bindings: Iterable[BindingType], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._bindings_shown = [one for one in bindings if isinstance(one, Binding) and one.show]

    def render(self) -> Text:
        """Return the line."""
        text = Text(no_wrap=True, overflow="ellipsis")
        for binding in self._bindings_shown:
            text.append(_shown(binding), "bold yellow")
            text.append(f" {binding.description}  ")
        return text

    def on_click(self, event: events.Click) -> None:
        """Post the action of the clicked key."""
        at = event.get_content_offset(self)
        end = 0
        for binding in self._bindings_shown if at is not None else ():
            end += len(_shown(binding)) + len(binding.description) + 3
            if at is not None and at.x < end:
                self.post_message(self.Pressed(binding.action))
                return


def _shown(binding: Binding) -> str:
    return binding.key_display or {"escape": "Esc", "enter": "Enter", "tab": "Tab"}.get(binding.key, binding.key)
