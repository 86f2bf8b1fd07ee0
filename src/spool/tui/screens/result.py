"""The result screen: what `spool report` says of a loop, so far or at its end."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from spool.domain.account.account import LoopAccount
from spool.domain.account.story_history import StoryStanding
from spool.domain.text.plain_text import one_line
from spool.tui import reports
from spool.tui.blocks import NO_FOLD
from spool.tui.pages import BlockPages
from spool.tui.screens.base import KeyedScreen
from spool.tui.turns import one_at_a_time
from spool.tui.widgets.key_line import KeyLine
from spool.tui.widgets.line import PlainLine
from spool.tui.widgets.paged import PagedView

_REFRESH_S = 1.0
_WIDEST = 120
_MARGIN = 3
"""The columns of the view that text does not use."""
_DONE = (StoryStanding.PROVED, StoryStanding.UNBROKEN, StoryStanding.WORD, StoryStanding.EARLIER)


class ResultScreen(KeyedScreen[str | None]):
    """Shows the report of a loop; a story can be selected and opened."""

    KEYS = (
        ("Left, Right", "select a story"),
        ("Enter, click", "open the story"),
        ("Up, Down, PgUp, PgDn", "scroll"),
        ("Esc", "back to the loop"),
        ("q", "quit"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", priority=True),
        Binding("left", "move(-1)", "Story", key_display="←→"),
        Binding("right", "move(1)", "Next story", show=False),
        Binding("escape", "dismiss(None)", "Back"),
        Binding("q", "leave", "Quit"),
    ]

    def __init__(self, change: str, report: Callable[[], Awaitable[LoopAccount]]) -> None:
        super().__init__()
        self._change = change
        self._report = report
        self._stories: list[str] = []
        self._shown: object = None

    def compose(self) -> ComposeResult:
        """Create the text."""
        yield PlainLine(f"Spool · {one_line(self._change)} · result", classes="title")
        yield PagedView(id="result-text")
        yield KeyLine([*self.BINDINGS, *KeyedScreen.BINDINGS])

    def on_mount(self) -> None:
        """Show the report and refresh it every second."""
        self.query_one(PagedView).focus()
        self.set_interval(_REFRESH_S, self._show)

    def on_resize(self) -> None:
        """Fit the report to the width."""
        self._show()

    @work(group="report")
    @one_at_a_time
    async def _show(self) -> None:
        reported = await self._report()
        if not self.is_there or not self.query(PagedView):  # on a busy machine a resize comes before the rest
            return
        view = self.query_one(PagedView)
        blocks, self._stories = reports.result(reported, min(_WIDEST, max(20, self.size.width - _MARGIN)))
        if blocks == self._shown:
            return
        first, self._shown = self._shown is None, blocks
        view.show(BlockPages(blocks), stay=not first)
        if first and self._stories:
            view.mark(_of_interest(reported))

    def action_move(self, by: int) -> None:
        """Select another story."""
        self.query_one(PagedView).action_mark(by)

    def action_open(self) -> None:
        """Open the selected story."""
        self._open(self.query_one(PagedView).marked)

    @on(PagedView.Chosen)
    def _chosen(self, event: PagedView.Chosen) -> None:
        self._open(event.fold)

    def _open(self, story: int) -> None:
        if story != NO_FOLD and story < len(self._stories):
            self.dismiss(self._stories[story])


def _of_interest(reported: LoopAccount) -> int:
    """Return the first story that was begun and is not done, else the first."""
    stories = reported.history.stories
    return next((at for at, one in enumerate(stories) if one.attempts and one.standing not in _DONE), 0)
