"""A row of tiles with one selected: the stories on a narrow screen, or several loops."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import one_line
from spool.tui.theme import selected_style
from spool.views.look import Sign, loop_sign


class Tile(msgspec.Struct, frozen=True):
    """One of several things to pick."""

    id: str
    words: str
    """The text if it is selected."""
    short: str
    """The text otherwise."""
    sign: Sign
    note: str = ""
    """A note at the end of its line, where there is room."""


class TileRow(Widget):
    """Shows the selected tile, and as many neighbours as fit."""

    DEFAULT_CSS = """
    TileRow { height: 1; width: 1fr; }
    """

    @dataclass
    class Picked(Message):
        """A tile was clicked."""

        tile: str

    def __init__(self, empty: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._empty = empty
        self._tiles: tuple[Tile, ...] = ()
        self._selected = ""
        self._places: list[tuple[range, str]] = []

    def show(self, tiles: Sequence[Tile], selected: str) -> None:
        """Show these tiles."""
        if (tuple(tiles), selected) != (self._tiles, self._selected):
            self._tiles, self._selected = tuple(tiles), selected
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Pick the clicked tile."""
        at = event.get_content_offset(self)
        for columns, tile in self._places if at is not None else ():
            if at is not None and at.x in columns:
                self.post_message(self.Picked(tile))

    def render(self) -> Text:
        """Return the row."""
        self._places = []
        if not self._tiles:
            return Text(self._empty, "dim")
        style = selected_style(self.app.current_theme)
        shown = [
            painted(one, one.words, style) if one.id == self._selected else painted(one, one.short)
            for one in self._tiles
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
            self._places.append((range(column, column + shown[number].cell_len), self._tiles[number].id))
            text.append_text(shown[number])
            column += shown[number].cell_len
        return text


class LoopRow(TileRow):
    """Shows the loops of a project, if there are several, and which one is watched."""

    def show_loops(self, loops: Sequence[LoopSummary], watched: str) -> None:
        """Show these loops; a single one needs no row."""
        self.display = len(loops) > 1
        names = [(one, one_line(one.change, 40)) for one in loops]
        self.show([Tile(one.run_id, name, name, loop_sign(one)) for one, name in names], watched)


def painted(tile: Tile, words: str, style: str = "") -> Text:
    """Return a tile with its sign; a style makes the selected one stand out."""
    text = Text.assemble(" ", (tile.sign.sign, tile.sign.role.style), f" {words} ")
    text.stylize_before(style)
    return text
