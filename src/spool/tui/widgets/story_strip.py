"""The stories of a loop: a list if it fits, else one row."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from spool.domain.progress import Mark
from spool.domain.text import one_line
from spool.tui.looks import MARKS, fitted


class Tile(msgspec.Struct, frozen=True):
    """One story as shown."""

    id: str
    title: str
    mark: Mark
    attempts: int


class StoryStrip(Widget):
    """Shows the stories and highlights the selected one."""

    DEFAULT_CSS = """
    StoryStrip { height: 1; width: 1fr; }
    """

    @dataclass
    class Picked(Message):
        """A story was clicked."""

        story: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tiles: tuple[Tile, ...] = ()
        self._selected = ""
        self._places: list[tuple[range, range, str]] = []

    def show(self, tiles: Sequence[Tile], selected: str) -> None:
        """Show these stories."""
        if (tuple(tiles), selected) != (self._tiles, self._selected):
            self._tiles, self._selected = tuple(tiles), selected
            self.refresh()

    def render(self) -> Text:
        """Return the list or the row."""
        self._places = []
        if not self._tiles:
            return Text("waiting for the first story", "dim")
        return self._list() if self.size.height > 1 else self._row()

    def on_click(self, event: events.Click) -> None:
        """Pick the clicked story."""
        at = event.get_content_offset(self)
        for columns, lines, story in self._places if at is not None else ():
            if at is not None and at.x in columns and at.y in lines:
                self.post_message(self.Picked(story))

    def _list(self) -> Text:
        width, height = self.size
        at = next((number for number, tile in enumerate(self._tiles) if tile.id == self._selected), 0)
        first = max(0, min(at - height // 2, len(self._tiles) - height))
        text = Text(no_wrap=True)
        for line, tile in enumerate(self._tiles[first : first + height]):
            self._places.append((range(width), range(line, line + 1), tile.id))
            text.append_text(self._tile(tile, fitted(_words(tile), max(1, width - 4))))
            text.append("\n")
        return text

    def _row(self) -> Text:
        """Return the selected story with its title, and as many neighbours as fit."""
        shown = [
            self._tile(one, _words(one) if one.id == self._selected else one_line(one.id, 12)) for one in self._tiles
        ]
        at = next((number for number, tile in enumerate(self._tiles) if tile.id == self._selected), 0)
        first, last, room = at, at, self.size.width - shown[at].cell_len
        for distance in range(1, len(shown)):
            for number in (at - distance, at + distance):
                if 0 <= number < len(shown) and first - 1 <= number <= last + 1 and shown[number].cell_len <= room:
                    first, last = min(first, number), max(last, number)
                    room -= shown[number].cell_len
        text, column = Text(no_wrap=True, overflow="ellipsis"), 0
        for number in range(first, last + 1):
            self._places.append((range(column, column + shown[number].cell_len), range(1), self._tiles[number].id))
            text.append_text(shown[number])
            column += shown[number].cell_len
        return text

    def _tile(self, tile: Tile, words: str) -> Text:
        sign, style = MARKS[tile.mark]
        chosen = tile.id == self._selected
        if chosen:
            return Text(f" {sign} {words} ", "bold reverse")
        return Text.assemble((" ", ""), (sign, style), f" {words} ")


def _words(tile: Tile) -> str:
    tries = f" ×{tile.attempts}" if tile.attempts > 1 else ""  # noqa: RUF001 - the sign that people read as "times"
    return one_line(f"{tile.id} {tile.title}", 60) + tries if tile.id else one_line(tile.title, 60)
