"""The result screen: what a loop did, per story and in total."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.coordinate import Coordinate
from textual.widgets import DataTable, Static

from spool.domain.progress import LoopProgress, Mark, StoryView
from spool.domain.text import counted, one_line
from spool.tui import reports
from spool.tui.looks import MARKS, STATUS_STYLES, fitted, state_of
from spool.tui.pages import BlockPages
from spool.tui.screens.base import KeyedScreen
from spool.tui.widgets.key_line import KeyLine
from spool.tui.widgets.line import Line
from spool.tui.widgets.paged import PagedView
from spool.views import words
from spool.views.look import PROOFS

_COLUMNS = ("", "story", "tries", "time", "tokens", "cost", "files")
_NAMES = 2
"""The number of leading columns without figures."""
_REFRESH_S = 1.0
_FIXED = 46
"""The width of all columns but the story."""


class ResultScreen(KeyedScreen[str | None]):
    """Shows the verdict, a table of the stories, and the attempts of the selected one; Enter opens it."""

    KEYS = (
        ("Up, Down", "select a story"),
        ("Enter", "open the story"),
        ("Tab", "scroll the text below with Up and Down, and back"),
        ("Esc", "back to the loop"),
        ("q", "quit"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open", priority=True),
        Binding("tab,shift+tab", "turn", "Scroll the text", show=False, priority=True),
        Binding("escape", "dismiss(None)", "Back"),
        Binding("q", "leave", "Quit"),
    ]

    def __init__(self, progress: LoopProgress, over: Callable[[], bool]) -> None:
        super().__init__()
        self._progress = progress
        self._over = over
        self._shown: list[tuple[Text, ...]] = []
        self._widths: list[int] = []

    def compose(self) -> ComposeResult:
        """Create the verdict and the table."""
        yield Line(f"Spool · {one_line(self._progress.change)} · result", classes="title")
        with VerticalScroll(id="verdict", can_focus=False):
            yield Static(id="verdict-text")
        yield DataTable(id="table", cursor_type="row", zebra_stripes=True)
        yield PagedView(id="story-text")
        yield KeyLine([*self.BINDINGS, *KeyedScreen.BINDINGS])

    def on_mount(self) -> None:
        """Fill the table and refresh it every second."""
        self.query_one(DataTable).focus()
        self.set_interval(_REFRESH_S, self._show)

    def on_resize(self) -> None:
        """Fit the table to the width."""
        self._show()

    def _show(self) -> None:
        """Show the current verdict and table."""
        if not self.is_there or not self.query("#verdict-text"):  # on a busy machine a resize comes before the rest
            return
        self.query_one("#verdict-text", Static).update(self._verdict())
        rows = [self._row(story, max(12, self.size.width - _FIXED)) for story in self._progress.shown.values()]
        table: DataTable[Text] = self.query_one(DataTable)
        before, self._shown = self._shown, rows
        # Widths of our own: those that the table measures are of the headings alone if it is filled twice in a row.
        widths = [max(map(cell_len, cells)) for cells in zip(_COLUMNS, *map(_plain, rows), strict=True)]
        if len(before) == len(rows) and self._widths == widths:  # update in place, which keeps the cursor
            news = [
                (at, cell) for at, row in enumerate(rows) for cell in range(len(row)) if row[cell] != before[at][cell]
            ]
            for at, cell in news:
                table.update_cell_at(Coordinate(at, cell), rows[at][cell])
            return
        self._widths = widths
        row = table.cursor_row if table.row_count else self._of_interest()
        table.clear(columns=True)
        for place, name in enumerate(_COLUMNS):
            table.add_column(Text(name, justify="left" if place < _NAMES else "right"), width=widths[place])
        for story, cells in zip(self._progress.shown, rows, strict=True):
            table.add_row(*cells, key=story)
        table.move_cursor(row=row)

    def _of_interest(self) -> int:
        """Return the row of the current story if it is not done, else the first."""
        stories = list(self._progress.shown.values())
        current = [at for at, one in enumerate(stories) if one.id == self._progress.current]
        return current[0] if current and stories[current[0]].mark is not Mark.DONE else 0

    def action_turn(self) -> None:
        """Focus the text if it is longer than its window, else the table."""
        table, text = self.query_one(DataTable), self.query_one("#story-text", PagedView)
        (text if table.has_focus and text.max_scroll_y > 0 else table).focus()

    def action_select(self) -> None:
        """Open the story under the cursor."""
        self.query_one(DataTable).action_select_cursor()

    @on(DataTable.RowHighlighted)
    def _highlighted(self, event: DataTable.RowHighlighted) -> None:
        story = self._progress.stories.get(event.row_key.value or "")
        if story is not None:
            self.query_one("#story-text", PagedView).show(BlockPages(reports.summary(story)))

    @on(DataTable.RowSelected)
    def _chosen(self, event: DataTable.RowSelected) -> None:
        self.dismiss(event.row_key.value or "")

    def _verdict(self) -> Text:
        progress = self._progress
        over = self._over()
        state = state_of(progress, over=over)
        text = Text.assemble((state, STATUS_STYLES.get(state, "bold")), (f" · {self._total()}", "dim"))
        if reason := progress.ended.reason if progress.ended else "its runner died" if over else "":
            text.append(f"\n{one_line(reason, 400)}")
        if progress.complete is not None and progress.complete.proof is not None:
            text.append(f"\n{words.proof(progress.complete)}", PROOFS[progress.complete.proof].style)
        if progress.error is not None and progress.error.kept:
            text.append(f"\nKept: {words.kept(progress.error)}", "yellow")
        return text

    def _total(self) -> str:
        progress = self._progress
        stories = progress.shown.values()
        files = len({name for story in stories for name in story.files})
        attempts = sum(story.tries for story in stories)
        parts = [f"{progress.completed} of {counted(len(stories), 'story', 'stories')}", counted(attempts, "attempt")]
        if progress.started_at is not None:
            parts.append(words.duration(progress.elapsed_s(datetime.now(UTC))))
        return " · ".join([*parts, *words.spent(progress.usage), f"{counted(files, 'file')} changed"])

    def _row(self, story: StoryView, width: int) -> tuple[Text, ...]:
        sign, style = MARKS[story.mark]
        usage = story.usage
        return (
            Text(sign, style),
            Text(fitted(f"{story.id} {story.title}", width).rstrip()),
            Text(str(story.tries), justify="right"),
            Text(words.duration(story.spent_s(datetime.now(UTC))) if story.attempts else "-", justify="right"),
            Text("-" if usage.tokens is None else words.tokens(usage.tokens), justify="right"),
            Text("-" if usage.cost_usd is None else f"${usage.cost_usd:.2f}", justify="right"),
            Text(str(len(story.files)) if story.attempts else "-", justify="right"),
        )


def _plain(row: tuple[Text, ...]) -> list[str]:
    return [cell.plain for cell in row]
