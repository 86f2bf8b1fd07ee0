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

from spool.views.look import Role

_DOT = " · "


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

    def offer(self, bindings: Iterable[BindingType]) -> None:
        """Show these keys instead."""
        shown = [one for one in bindings if isinstance(one, Binding) and one.show]
        if shown != self._bindings_shown:
            self._bindings_shown = shown
            self.refresh()

    def render(self) -> Text:
        """Return the line."""
        text = Text(no_wrap=True, overflow="ellipsis")
        for number, binding in enumerate(self._fitting()):
            text.append(_DOT if number else "", "dim")
            text.append(_shown(binding), "bold")
            text.append(f" {binding.description.lower()}", Role.DIM.style)
        return text

    def _fitting(self) -> list[Binding]:
        """Return the keys that fit; the last one, which is the help, stays."""
        found = list(self._bindings_shown)
        while len(found) > 1 and sum(map(_width, found)) - len(_DOT) > self.size.width:
            del found[-2]
        return found

    def on_click(self, event: events.Click) -> None:
        """Post the action of the clicked key."""
        at = event.get_content_offset(self)
        end = 0
        for binding in self._fitting() if at is not None else ():
            end += _width(binding)
            if at is not None and at.x < end:
                self.post_message(self.Pressed(binding.action))
                return


def _width(binding: Binding) -> int:
    return len(f"{_shown(binding)} {binding.description}{_DOT}")


def _shown(binding: Binding) -> str:
    return binding.key_display or {"escape": "Esc", "enter": "Enter", "tab": "Tab"}.get(binding.key, binding.key)
