"""A story in tabs: info, the agent's messages, changes, raw output; with room, changes stand beside the others."""

import time

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import TabPane

from spool.app.loops.client import Client, Diff
from spool.domain.account.progress import StoryHistory
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError
from spool.tui import reports
from spool.tui.blocks import Block, Tone, line
from spool.tui.pages import BlockPages, LogPages, StoryPages, pages_in
from spool.tui.turns import one_at_a_time
from spool.tui.watched_loop import WatchedLoop
from spool.tui.widgets.line import PlainLine
from spool.tui.widgets.paged import PagedView
from spool.tui.widgets.tabbed import Tabbed

_DIFF_S = 3.0
"""Seconds between diffs of the working tree while changes are shown."""


class StoryTabs(Horizontal):
    """Shows one story at a time; updates only what is visible and the Agent tab."""

    DEFAULT_CSS = """
    StoryTabs { width: 1fr; height: 1fr; }
    """

    def __init__(self, client: Client, watch: WatchedLoop) -> None:
        super().__init__()
        self._client = client
        self._watch = watch
        self._view: StoryHistory | None = None
        self._pages: StoryPages | None = None
        self._log: LogPages | None = None
        self._compared_at = 0.0
        self._shown_blocks: dict[str, list[Block]] = {}

    def compose(self) -> ComposeResult:
        """Create the tabs, and the place for changes beside them."""
        with Tabbed(initial="agent"):
            with TabPane("Info", id="info"):
                yield PagedView(id="info-text")
            with TabPane("Agent", id="agent"):
                yield PagedView(id="agent-text", follow=True, folded=True)
            with TabPane("Changes", id="changes"):
                yield PagedView(id="changes-text")
            with TabPane("Log", id="log"):
                yield PagedView(id="log-text", follow=True)
        with Vertical(id="beside"):
            yield PlainLine("Changes", id="beside-head")
            yield PagedView(id="beside-text")

    @property
    def _beside(self) -> bool:
        """Whether the changes stand beside the tabs."""
        return bool(self.query_one("#beside").display)

    def set_beside(self, *, wanted: bool) -> None:
        """Show the changes beside the tabs, or as one of them."""
        if wanted == self._beside:
            return
        tabs = self.query_one(Tabbed)
        self.query_one("#beside").display = wanted
        if wanted and tabs.active == "changes":
            tabs.active = "agent"
        (tabs.hide_tab if wanted else tabs.show_tab)("changes")
        self._compared_at = 0.0

    def step(self, by: int) -> None:
        """Show another tab; changes beside them are one of the stops."""
        tabs, beside = self.query_one(Tabbed), self.query_one("#beside-text", PagedView)
        order = tabs.names
        here = "changes" if self._beside and beside.has_focus else tabs.active
        to = order[(order.index(here) + by) % len(order)]
        if self._beside and to == "changes":
            beside.focus()
        elif to == tabs.active:
            self.query_one(f"#{to}-text").focus()
        else:
            tabs.active = to

    @on(Tabbed.TabActivated)
    def _shown(self, event: Tabbed.TabActivated) -> None:
        if event.pane.id == event.tabbed_content.active:  # not if it was left meanwhile
            self._compared_at = 0.0
            event.pane.query_one(PagedView).focus()
        else:
            event.stop()

    def show(self, view: StoryHistory) -> None:
        """Show the current state of a story."""
        if view is not self._view:
            self._view = view
            self._compared_at = 0.0
        self._show_agent(view)
        watch, active = self._watch, self.query_one(Tabbed).active
        if active == "info":
            self._put("#info-text", reports.info(watch.progress, view, watch.stories, watch.scenarios))
        if active == "log":
            self._read_log(view)
        if (active == "changes" or self._beside) and time.monotonic() - self._compared_at > _DIFF_S:
            self._compare(view)

    def _show_agent(self, view: StoryHistory) -> None:
        agent, index, before = self.query_one("#agent-text", PagedView), self._watch.index(view), self._pages
        if before is not None and index is before.index:
            agent.grown()
            return
        self._pages = StoryPages(self._watch.feed, index)
        top = agent.first_page if before is not None and self._watch.is_tail(before.index) else None
        # Whoever reads in the end of a long journal stays there when the rest of it is known.
        agent.show(self._pages, at=index.at(before.index.place(top)[0]) if before and top is not None else None)

    def _put(self, where: str, blocks: list[Block]) -> None:
        """Show blocks if they have changed."""
        if self._shown_blocks.get(where) != blocks:
            self._shown_blocks[where] = blocks
            self.query_one(where, PagedView).show(BlockPages(blocks), stay=True)

    @work(group="diff")
    @one_at_a_time
    async def _compare(self, view: StoryHistory) -> None:
        self._compared_at = time.monotonic()
        diff = Diff(note="this story has not started")
        if view.attempts:
            diff = Diff(note="this loop has no checkpoints, so only the names of changed files are known")
        if view.since:
            try:
                diff = await self._client.diff(self._watch.loop, view.since, view.until)
            except (SpoolError, OSError) as error:
                diff = Diff(note=one_line(str(error), 400))
        if self.is_attached and self.display and view is self._view:  # not while it is being removed
            self._put("#beside-text" if self._beside else "#changes-text", reports.changes(diff, view))

    @work(group="log")
    @one_at_a_time
    async def _read_log(self, view: StoryHistory) -> None:
        text = self.query_one("#log-text", PagedView)
        if view.iteration is None:
            self._log = None
            text.show(BlockPages([line("no output yet", Tone.DIM)]))
        elif self._log is None or self._log.iteration != view.iteration:
            log = LogPages(self._watch.feed, view.iteration)
            await log.measure()
            self._log = log
            text.show(log)
        else:
            before = self._log.errors
            await self._log.measure()
            text.grown()
            if self._log.errors != before:  # errors come before the output
                text.show(self._log, stay=pages_in(self._log.errors) == pages_in(before))
