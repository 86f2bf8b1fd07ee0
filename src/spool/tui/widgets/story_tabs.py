"""The four tabs of a story: its info, the agent's messages, its changes, and its raw output."""

import time
from collections.abc import Sequence

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import TabPane

from spool.app.client import Client, Diff, Feed
from spool.domain.loop import LoopSummary
from spool.domain.progress import LoopProgress, StoryView
from spool.domain.story import StoryList
from spool.domain.text import one_line
from spool.errors import SpoolError
from spool.tui import reports
from spool.tui.blocks import Block, Tone, line
from spool.tui.pages import BlockPages, LogPages, StoryIndex, StoryIndexes, StoryPages, pages_in
from spool.tui.turns import one_at_a_time
from spool.tui.widgets.paged import PagedView
from spool.tui.widgets.tabbed import Tabbed

_DIFF_S = 3.0
"""Seconds between diffs of the working tree while the Changes tab is open."""


class StoryTabs(Container):
    """Shows one story at a time; updates only the open tab and the Agent tab."""

    DEFAULT_CSS = """
    StoryTabs { width: 1fr; height: 1fr; }
    """

    def __init__(self, client: Client, loop: LoopSummary, feed: Feed, indexes: StoryIndexes) -> None:
        super().__init__()
        self._client = client
        self._loop = loop
        self._feed = feed
        self._indexes = indexes
        self._view: StoryView | None = None
        self._index: StoryIndex | None = None
        self._log: LogPages | None = None
        self._compared_at = 0.0
        self._shown_blocks: dict[str, list[Block]] = {}

    def compose(self) -> ComposeResult:
        """Create the tabs."""
        with Tabbed(initial="agent"):
            with TabPane("Info", id="info"):
                yield PagedView(id="info-text")
            with TabPane("Agent", id="agent"):
                yield PagedView(id="agent-text", follow=True, folded=True)
            with TabPane("Changes", id="changes"):
                yield PagedView(id="changes-text")
            with TabPane("Log", id="log"):
                yield PagedView(id="log-text", follow=True)

    def step(self, by: int) -> None:
        """Switch to another tab."""
        self.query_one(Tabbed).step(by)

    @on(Tabbed.TabActivated)
    def _shown(self, event: Tabbed.TabActivated) -> None:
        if event.pane.id == event.tabbed_content.active:  # not if it was left meanwhile
            self._compared_at = 0.0
            event.pane.query_one(PagedView).focus()
        else:
            event.stop()

    def show(self, progress: LoopProgress, view: StoryView, stories: StoryList, scenarios: Sequence[str]) -> None:
        """Show the current state of a story."""
        if view is not self._view:
            self._view = view
            self._compared_at = 0.0
        agent = self.query_one("#agent-text", PagedView)
        index = self._indexes.of(view.id)
        if index is self._index:
            agent.grown()
        else:
            self._index = index
            agent.show(StoryPages(self._feed, index))
        match self.query_one(Tabbed).active:
            case "info":
                self._put("#info-text", reports.info(progress, view, stories, scenarios))
            case "changes" if time.monotonic() - self._compared_at > _DIFF_S:
                self._compare(view)
            case "log":
                self._read_log(view)
            case _:
                pass

    def _put(self, where: str, blocks: list[Block]) -> None:
        """Show blocks if they have changed."""
        if self._shown_blocks.get(where) != blocks:
            self._shown_blocks[where] = blocks
            self.query_one(where, PagedView).show(BlockPages(blocks), stay=True)

    @work(group="diff")
    @one_at_a_time
    async def _compare(self, view: StoryView) -> None:
        self._compared_at = time.monotonic()
        diff = Diff(note="this story has not started")
        if view.attempts:
            diff = Diff(note="this loop has no checkpoints, so only the names of changed files are known")
        if view.since:
            try:
                diff = await self._client.diff(self._loop, view.since, view.until)
            except (SpoolError, OSError) as error:
                diff = Diff(note=one_line(str(error), 400))
        if self.is_attached and view is self._view:
            self._put("#changes-text", reports.changes(diff, view))

    @work(group="log")
    @one_at_a_time
    async def _read_log(self, view: StoryView) -> None:
        text = self.query_one("#log-text", PagedView)
        if view.iteration is None:
            self._log = None
            text.show(BlockPages([line("no output yet", Tone.DIM)]))
        elif self._log is None or self._log.iteration != view.iteration:
            log = LogPages(self._feed, view.iteration)
            await log.measure()
            self._log = log
            text.show(log)
        else:
            before = self._log.errors
            await self._log.measure()
            text.grown()
            if self._log.errors != before:  # errors come before the output
                text.show(self._log, stay=pages_in(self._log.errors) == pages_in(before))
