"""Loads texts of any length a page at a time. Pages out of view stay on disk, so memory use is constant."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Protocol

from spool.app.loops.client import Feed, JournalEntry
from spool.domain.account.progress import WHOLE
from spool.domain.agent.stream import Message, ToolResult, ToolUse
from spool.domain.loop.events import said_in
from spool.tui.blocks import Block, plain, rule
from spool.tui.story_transcript import long_text, transcribe, transcribe_part
from spool.views.live.speech import piece_end

EVENTS = 32
CHARACTERS = 8_192
_BYTES = 16_384


class Pages(Protocol):
    """A text in numbered pages."""

    @property
    def count(self) -> int:
        """The current number of pages."""

    @property
    def version(self) -> int:
        """A number that changes when the last page does."""

    async def load(self, number: int) -> list[Block]:
        """Return the blocks of a page."""


class BlockPages:
    """Pages of blocks that are in memory: a proposal, a prompt, a diff."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._pages = list(_grouped(blocks))
        self.version = 0

    @property
    def count(self) -> int:
        """The number of pages."""
        return len(self._pages)

    async def load(self, number: int) -> list[Block]:
        """Return the blocks of a page."""
        return self._pages[number]


def _grouped(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    page: list[Block] = []
    size = 0
    for block in blocks:
        if page and (len(page) >= EVENTS or size + len(block.text) > CHARACTERS):
            yield page
            page, size = [], 0
        page.append(block)
        size += len(block.text)
    if page:
        yield page


class StoryIndex:
    """The positions of one story's pages in the journal: 32 bytes per page, however large the events."""

    def __init__(self) -> None:
        self._starts, self._stops = array("Q"), array("Q")
        self._from, self._to = array("Q"), array("Q")
        self._events = 0
        self._characters = 0
        self._open = False
        self._calls: set[str] = set()
        self.version = 0

    @property
    def count(self) -> int:
        """The number of pages."""
        return len(self._starts)

    def add(self, placed: JournalEntry) -> None:
        """Add the next event of the story."""
        self.version += 1
        text = long_text(placed.event)
        if len(text) > CHARACTERS:
            self._add_long(placed, text)
            return
        if not self._open or self._stops[-1] != placed.start:
            self._begin(placed, 0, 0)
        self._stops[-1] = placed.stop
        self._events += 1
        self._characters += len(text)
        said = said_in(placed.event)
        if isinstance(said, ToolUse):
            self._calls.add(said.call_id)
        elif isinstance(said, ToolResult):
            self._calls.discard(said.call_id)
        # Keep a partial message, or a call and its result, on one page up to twice its size.
        partial = bool(self._calls) or (isinstance(said, Message) and said.partial)
        self._open = not self._full() or (partial and self._events < 2 * EVENTS and self._characters < 2 * CHARACTERS)

    def place(self, number: int) -> tuple[int, int, int, int]:
        """Return a page's byte range in the journal and, for a part of a long event, its character range."""
        return self._starts[number], self._stops[number], self._from[number], self._to[number]

    def at(self, offset: int) -> int:
        """Return the page with a place in the journal."""
        return max(0, bisect_right(self._starts, offset) - 1)

    def _full(self) -> bool:
        return self._events >= EVENTS or self._characters >= CHARACTERS

    def _begin(self, placed: JournalEntry, first: int, last: int) -> None:
        self._starts.append(placed.start)
        self._stops.append(placed.stop)
        self._from.append(first)
        self._to.append(last)
        self._events = self._characters = 0
        self._calls.clear()
        self._open = True

    def _add_long(self, placed: JournalEntry, text: str) -> None:
        first = 0
        while first < len(text):
            last = piece_end(text, first, CHARACTERS)
            self._begin(placed, first, last)
            first = last
        self._open = False


class StoryIndexes:
    """One index per story. Events before the first story belong to it."""

    def __init__(self) -> None:
        self._known: dict[str, StoryIndex] = {}

    def add(self, story: str, placed: JournalEntry) -> None:
        """Add an event of a story."""
        if story != WHOLE and (before_first := self._known.pop(WHOLE, None)) is not None and before_first.count:
            self._known[story] = before_first
        self.of(story).add(placed)

    def of(self, story: str) -> StoryIndex:
        """Return the index of a story."""
        found = self._known.get(story)
        if found is None:
            found = self._known[story] = StoryIndex()
        return found


class StoryPages:
    """The events of one story, read from the journal."""

    def __init__(self, feed: Feed, index: StoryIndex) -> None:
        self._feed = feed
        self.index = index

    @property
    def count(self) -> int:
        """The current number of pages."""
        return self.index.count

    @property
    def version(self) -> int:
        """The current number of events."""
        return self.index.version

    async def load(self, number: int) -> list[Block]:
        """Return the blocks of a page."""
        start, stop, first, last = self.index.place(number)
        events = await self._feed.page(start, stop)
        return transcribe_part(events[0], first, last) if last and events else transcribe(events)


class LogPages:
    """The raw output of an iteration's agent: standard error, if any, then standard output."""

    def __init__(self, feed: Feed, iteration: int) -> None:
        self._feed = feed
        self.iteration = iteration
        self.errors = 0
        self._output = 0

    @property
    def version(self) -> int:
        """The current number of bytes."""
        return self.errors + self._output

    @property
    def count(self) -> int:
        """The current number of pages."""
        return pages_in(self.errors) + pages_in(self._output)

    async def measure(self) -> None:
        """Update the sizes."""
        self.errors, self._output = await self._feed.log_sizes(self.iteration)

    async def load(self, number: int) -> list[Block]:
        """Return the lines that start on a page; a line longer than a page is split there."""
        before = pages_in(self.errors)
        if number < before:
            head = [rule("standard error")] if number == 0 else []
            return head + await self._page("err", number)
        head = [rule("standard output")] if before and number == before else []
        return head + await self._page("out", number - before)

    async def _page(self, stream: str, number: int) -> list[Block]:
        at = number * _BYTES
        data = await self._feed.log(self.iteration, stream, at, at + 2 * _BYTES)
        begin = 0 if number == 0 else _after_line(data[:_BYTES])
        end = _BYTES + _after_line(data[_BYTES:]) if len(data) > _BYTES else len(data)
        return plain(data[begin:end].decode("utf-8", "replace"))


def pages_in(size: int) -> int:
    """Return the number of log pages for `size` bytes."""
    return -(-size // _BYTES)


def _after_line(data: bytes) -> int:
    """Return the start of the first new line; 0 if there is none, so that an endless line is split at the page."""
    return data.find(b"\n") + 1
