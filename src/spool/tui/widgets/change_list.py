"""The list of changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.text import Text
from textual import on
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from spool.app.loops.client import ChangeRow
from spool.tui.looks import ago, bar, fitted
from spool.views.look import Role, loop_sign

_BAR = 10
_WIDE = 72
"""Minimum width for titles and the last activity."""


class ChangeList(OptionList):
    """Shows one line per change, with progress, status and last activity; running loops are marked."""

    @dataclass
    class Chosen(Message):
        """A change was chosen."""

        row: ChangeRow

    def __init__(self, first: str | None = None, *, id: str | None = None) -> None:
        super().__init__(markup=False, id=id)
        self._first = first
        """The change that the cursor starts on."""
        self._rows: list[ChangeRow] = []
        self._shown: list[Text] = []

    @property
    def row(self) -> ChangeRow | None:
        """The change under the cursor."""
        at = self.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def show(self, rows: Sequence[ChangeRow]) -> None:
        """Show these changes and keep the cursor on its change."""
        width, now = self.scrollable_content_region.width, datetime.now(UTC)
        lines = [line(row, width, now) for row in rows]
        before = self.row
        self._rows = list(rows)
        if lines == self._shown:
            return
        self._shown = lines
        self.clear_options()
        self.add_options(Option(line) for line in lines)
        wanted = _key(before) if before else (self._first, "")
        places = [place for place, row in enumerate(rows) if _key(row) == wanted]
        self.highlighted = (places or [0])[0] if rows else None

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self.show(self._rows)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if self.row is not None:
            self.post_message(self.Chosen(self.row))


def _key(row: ChangeRow) -> tuple[str, str]:
    return row.id, row.elsewhere


def heading(width: int) -> str:
    """Return the heading of the columns."""
    name, title, activity = _widths(width)
    head = f"  {fitted('change', name)} "
    if title:
        head += f"{fitted('title', title)} "
    return head + fitted("tasks", _BAR + 8) + fitted("status", 9) + ("last activity" if activity else "")


def line(row: ChangeRow, width: int, now: datetime) -> Text:
    """Return the line of one change, fitted to the width."""
    name, title, activity = _widths(width)
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("► " if row.running else "  ", Role.RUNNING.style)
    text.append(fitted(row.id, name) + " ", "bold" if row.running else "")
    if title:
        shown = f"in worktree {row.elsewhere.rpartition('/')[2]}" if row.elsewhere else row.title
        text.append(fitted("" if shown == row.id else shown, title) + " ", "dim" if row.elsewhere else "")
    text.append_text(bar(row.done / row.total if row.total else 0.0, _BAR))
    text.append(" " + fitted(f"{row.done}/{row.total}" if row.total else "none", 7))
    status = str(row.loop.status) if row.loop else "complete" if row.total and row.done == row.total else "new"
    text.append(fitted(status, 9), loop_sign(row.loop).role.style if row.loop else "dim")
    if activity:
        text.append(fitted(ago(row.active_at, now), activity), "dim")
    return text


def _widths(width: int) -> tuple[int, int, int]:
    """Return the columns for the id, the title and the last activity."""
    activity = 13 if width >= _WIDE else 0
    rest = width - 3 - (_BAR + 8) - 9 - activity
    if width < _WIDE:
        return max(8, rest), 0, 0
    name = min(32, max(16, rest * 2 // 5))
    return name, max(0, rest - name - 1), activity
