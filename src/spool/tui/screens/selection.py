"""The selection screen: lists the changes and the running loops."""

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from spool.app.loops.client import ChangeRow, Client
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError
from spool.tui.screens.base import KeyedScreen, SpoolScreen
from spool.tui.screens.loop_screen import LoopScreen
from spool.tui.screens.preview import PreviewScreen
from spool.tui.turns import one_at_a_time
from spool.tui.widgets.change_list import ChangeList, heading
from spool.tui.widgets.key_line import KeyLine
from spool.tui.widgets.line import PlainLine

_REFRESH_S = 1.0
_FILTER_KEYS = (
    Binding("enter", "filter_done", "Apply"),
    Binding("escape", "clear_filter", "Show all"),
)
_EMPTY = "No active changes.\nA change is a folder with a proposal.md under .spool/changes/."


class SelectionScreen(SpoolScreen):
    """Lists the changes; Enter opens one, or attaches to its running loop."""

    KEYS = (
        ("Up, Down", "select a change"),
        ("Enter", "open a change, or attach to its running loop"),
        ("l", "show the last run of a change"),
        ("/", "filter; Esc shows all"),
        ("Esc", "remove the card of a loop that was stopped"),
        ("q", "quit; running loops continue"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", show=True),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("l", "last_run", "Last run"),
        Binding("q", "leave", "Quit"),
        Binding("escape", "clear_filter", "Clear", show=False),
    ]

    def __init__(self, client: Client, change: str | None = None) -> None:
        super().__init__(client)
        self._change = change
        self._rows: list[ChangeRow] | None = None

    def compose(self) -> ComposeResult:
        """Create the list."""
        yield PlainLine("Spool · changes", classes="title")
        yield PlainLine(id="columns")
        yield ChangeList(self._change, id="changes")
        yield PlainLine(_EMPTY, id="empty")
        yield PlainLine(id="detail")
        yield PlainLine(id="card")
        yield Input(placeholder="filter by id or title", id="filter")
        yield KeyLine([*self.BINDINGS, *KeyedScreen.BINDINGS])
        yield KeyLine(_FILTER_KEYS, id="filter-keys")

    def on_mount(self) -> None:
        """Read the changes now and every second."""
        self._show_filter(shown=False)
        for name in ("#empty", "#card"):
            self.query_one(name).display = False
        self.query_one(ChangeList).focus()
        self._refreshing = self.set_interval(_REFRESH_S, self._read)

    def on_screen_resume(self) -> None:
        """Refresh now and every second."""
        self._refreshing.resume()
        self._read()

    def on_screen_suspend(self) -> None:
        """Stop refreshing: each message to a screen redraws all of the one above it, which took 20 ms."""
        self._refreshing.pause()

    def on_resize(self) -> None:
        """Fit the heading to the columns."""
        self.query_one("#columns", PlainLine).say(heading(self.query_one(ChangeList).scrollable_content_region.width))

    @work(group="read")
    @one_at_a_time
    async def _read(self) -> None:
        try:
            self._rows = await self.client.changes()
        except (SpoolError, OSError) as error:
            self.complain(error)
        self._show()

    def _show(self) -> None:
        if self._rows is None or not self.is_there:
            return
        wanted = self.query_one("#filter", Input).value.strip().lower()
        shown = [row for row in self._rows if wanted in f"{row.id} {row.title}".lower()]
        changes = self.query_one(ChangeList)
        changes.show(shown)
        changes.display = bool(shown)
        if shown:
            self.query_one("#columns", PlainLine).say(heading(changes.scrollable_content_region.width))
        empty = self.query_one("#empty", PlainLine)
        empty.display = not shown
        empty.say(_EMPTY if not self._rows else "No change matches the filter. Esc shows all.", layout=True)
        self._show_detail(changes.row)

    def _show_detail(self, row: ChangeRow | None) -> None:
        """Show the details that do not fit in the row of a change."""
        detail = ""
        if row is not None:
            where = f"running in {row.elsewhere}" if row.elsewhere else "running"
            now = f"{where}; Enter attaches" if row.running else row.loop.reason if row.loop else ""
            detail = " · ".join(part for part in (row.title, now) if part)
        self.query_one("#detail", PlainLine).say(one_line(detail, 400))

    @on(ChangeList.OptionHighlighted)
    def _highlighted(self) -> None:
        self._show_detail(self.query_one(ChangeList).row)

    @on(ChangeList.Chosen)
    def _chosen(self, event: ChangeList.Chosen) -> None:
        if event.row.running and event.row.loop is not None:
            self.app.push_screen(LoopScreen(self.client, event.row.loop))
        else:
            self.app.push_screen(PreviewScreen(self.client, event.row.id))

    def show_card(self, text: str) -> None:
        """Show what became of a loop that was stopped; an empty text removes the card."""
        if not self.is_there:  # the screen closes as the loop ends
            return
        card = self.query_one("#card", PlainLine)
        card.display = bool(text)
        card.say(text, layout=True)

    def action_choose(self) -> None:
        """Open the change under the cursor, wherever the focus is."""
        self.query_one(ChangeList).action_select()

    def action_last_run(self) -> None:
        """Show the last run of a change."""
        row = self.query_one(ChangeList).row
        if row is None or row.loop is None:
            self.notify("No loop has run for this change yet.")
        else:
            self.app.push_screen(LoopScreen(self.client, row.loop))

    def action_filter(self) -> None:
        """Show the filter and focus it."""
        self._show_filter(shown=True)
        self.query_one("#filter", Input).focus()

    def _show_filter(self, *, shown: bool) -> None:
        for name in ("#filter", "#filter-keys"):
            self.query_one(name).display = shown

    def action_clear_filter(self) -> None:
        """Clear the filter and show all changes, without the card."""
        self.show_card("")
        self.query_one("#filter", Input).value = ""
        self._show_filter(shown=False)
        self.query_one(ChangeList).focus()

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._show()

    @on(Input.Submitted, "#filter")
    def action_filter_done(self) -> None:
        """Keep the filter and focus the list."""
        self.query_one("#filter-keys").display = False
        self.query_one(ChangeList).focus()
