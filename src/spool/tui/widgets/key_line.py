"""The line of keys at the bottom.

Written by hand: Textual's Footer makes a widget for every key again whenever the focus moves, which took most of the
time of a key press here and was never given back (150 KiB for each walk to another tab).
"""

from collections.abc import Iterable

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget


class KeyLine(Widget):
    """Shows keys and what they do; a click on one does it."""

    DEFAULT_CSS = """
    KeyLine { height: 1; dock: bottom; background: $footer-background; color: $footer-foreground; padding: 0 1; }
    """

    class Pressed(Message):
        """A key was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, bindings: Iterable[BindingType], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._told = [one for one in bindings if isinstance(one, Binding) and one.show]

    def render(self) -> Text:
        """Return the line."""
        text = Text(no_wrap=True, overflow="ellipsis")
        for binding in self._told:
            text.append(_shown(binding), "bold yellow")
            text.append(f" {binding.description}  ")
        return text

    def on_click(self, event: events.Click) -> None:
        """Say which key was clicked."""
        at = event.get_content_offset(self)
        end = 0
        for binding in self._told if at is not None else ():
            end += len(_shown(binding)) + len(binding.description) + 3
            if at is not None and at.x < end:
                self.post_message(self.Pressed(binding.action))
                return


def _shown(binding: Binding) -> str:
    return binding.key_display or {"escape": "Esc", "enter": "Enter", "tab": "Tab"}.get(binding.key, binding.key)
