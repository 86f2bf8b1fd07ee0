"""A view of a text of any length. A few pages around where one looks are painted; the rest stays where it is."""

import asyncio
import time
from bisect import bisect_right
from itertools import accumulate
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from spool.tui.blocks import NO_FOLD, Block
from spool.tui.pages import BlockPages, Pages
from spool.tui.paint import Painter

_SLICE_S = 0.006
"""How long painting may hold up the keyboard: a key press is to be answered within 50 ms."""
_MOST_PAGES = 24
_SCREENS = 2
"""How many screenfuls are kept ready above and below."""
_REVERSE = Style(reverse=True)


class _Page:
    """A painted page."""

    def __init__(self, number: int, version: int, blocks: list[Block]) -> None:
        self.number = number
        self.version = version
        self.blocks = blocks
        self.painted: list[list[Strip]] = []
        self.lines: list[Strip] = []
        self.owners: list[Block] = []

    def settle(self) -> None:
        """Lay the painted blocks under each other."""
        self.lines = [line for strips in self.painted for line in strips]
        pairs = zip(self.blocks, self.painted, strict=True)
        self.owners = [block for block, strips in pairs for _ in strips]


class PagedView(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows pages; follows the end until one scrolls up, if it is to follow."""

    DEFAULT_CSS = """
    PagedView { overflow-x: hidden; overflow-y: scroll; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "Up", show=False),
        Binding("down,j", "scroll_down", "Down", show=False),
        Binding("pageup,b", "page_up", "Page up", show=False),
        Binding("pagedown,space", "page_down", "Page down", show=False),
        Binding("home,g", "first", "Beginning", show=False),
        Binding("end,G", "last", "End", show=False),
        Binding("n", "mark(1)", "Next call", show=False),
        Binding("p", "mark(-1)", "Previous call", show=False),
        Binding("enter", "fold", "Fold", show=False),
        Binding("f", "fold_all", "Fold all", show=False),
    ]

    class Moved(Message):
        """One looks at another place, or the text has grown."""

        def __init__(self, view: "PagedView") -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> "PagedView":
            """The view in question."""
            return self.view

    def __init__(self, *, follow: bool = False, folded: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._source: Pages = BlockPages(())
        self._follow = follow
        self.following = follow
        self._folded = folded
        self._turned: set[int] = set()
        self._window: list[_Page] = []
        self._tops: list[int] = [0]
        self._painter: Painter | None = None
        self._mark = NO_FOLD
        self._jump: int | None = None
        self._restart = True
        self._moving = False
        self._work = asyncio.Event()

    def show(self, source: Pages, *, stay: bool = False) -> None:
        """Show something; `stay` keeps the place, for a newer state of the same text."""
        self._source = source
        if stay:
            for page in self._window:
                page.version = -1
        else:
            self._turned.clear()
            self._mark = NO_FOLD
            self._restart = True
            self.following = self._follow
        self._work.set()

    def grown(self) -> None:
        """There may be more at the end."""
        self._work.set()

    @property
    def place(self) -> tuple[int, int]:
        """The last page in view, counted from 1, and how many there are."""
        bottom = self._find(self.scroll_offset.y + max(1, self.size.height) - 1)
        number = self._window[bottom].number + 1 if bottom is not None else 0
        return number, self._source.count

    def on_mount(self) -> None:
        """Begin to paint."""
        self.run_worker(self._keep_up(), name="paint", exit_on_error=True)

    def on_resize(self) -> None:
        """Paint for the new width."""
        self._work.set()

    def notify_style_update(self) -> None:
        """Paint for the new theme."""
        super().notify_style_update()
        self._work.set()

    def render_line(self, y: int) -> Strip:
        """Return one line of the terminal."""
        at = y + self.scroll_offset.y
        found = self._find(at)
        if found is None:
            return Strip.blank(self.size.width, self.rich_style)
        page = self._window[found]
        line = at - self._tops[found]
        strip, owner = page.lines[line], page.owners[line]
        if owner.head and owner.fold == self._mark:
            strip = strip.apply_style(_REVERSE)
        return strip.crop(0, self.size.width).extend_cell_length(self.size.width).apply_style(self.rich_style)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Look for more in the direction of the scrolling."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value) and not self._moving:
            self.following = self._follow and self._at_end()
            self._work.set()
            self.post_message(self.Moved(self))

    def on_click(self, event: events.Click) -> None:
        """Fold or unfold what was clicked."""
        at = event.get_content_offset(self)
        found = None if at is None else self._find(at.y + self.scroll_offset.y)
        if at is None or found is None:
            return
        owner = self._window[found].owners[at.y + self.scroll_offset.y - self._tops[found]]
        if owner.head:
            self._mark = owner.fold
            self._turn({owner.fold})

    def action_first(self) -> None:
        """Go to the beginning."""
        self.following = False
        self._jump = 0
        self._work.set()

    def action_last(self) -> None:
        """Go to the end, and follow it."""
        self.following = self._follow
        self._jump = -1
        self._work.set()

    def action_mark(self, step: int) -> None:
        """Mark the next or the previous thing that folds, and bring it into view."""
        heads = [
            (self._tops[at] + line, owner.fold)
            for at, page in enumerate(self._window)
            for line, owner in enumerate(page.owners)
            if owner.head
        ]
        if not heads:
            return
        keys = [fold for _, fold in heads]
        if self._mark in keys:
            chosen = max(0, min(len(keys) - 1, keys.index(self._mark) + step))
        else:
            top = self.scroll_offset.y
            after = [number for number, (line, _) in enumerate(heads) if line >= top]
            chosen = (after[0] if after else len(heads) - 1) if step > 0 else max(0, (after or [0])[0] - 1)
        line, self._mark = heads[chosen]
        if not self.scroll_offset.y <= line < self.scroll_offset.y + self.size.height:
            self.scroll_to(y=max(0, line - self.size.height // 3), animate=False)
        self.refresh()

    def action_fold(self) -> None:
        """Fold or unfold what is marked."""
        if self._mark != NO_FOLD:
            self._turn({self._mark})

    def action_fold_all(self) -> None:
        """Fold or unfold everything."""
        self._folded = not self._folded
        self._turned.clear()
        self._turn(set())

    def _turn(self, folds: set[int]) -> None:
        self._turned ^= folds
        for page in self._window:
            page.version = -1
        self._work.set()

    def _hidden(self, block: Block) -> bool:
        return block.fold != NO_FOLD and not block.head and self._shut(block.fold)

    def _shut(self, fold: int) -> bool:
        return self._folded != (fold in self._turned)

    def _find(self, line: int) -> int | None:
        """Return which page of the window holds a line."""
        if not 0 <= line < self._tops[-1]:
            return None
        return bisect_right(self._tops, line) - 1

    def _at_end(self) -> bool:
        last = bool(self._window) and self._window[-1].number >= self._source.count - 1
        return (last or not self._window) and self.scroll_offset.y >= self.max_scroll_y

    async def _keep_up(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            if self.size.width and self.size.height:
                await self._bring_up_to_date()
                self.post_message(self.Moved(self))

    async def _bring_up_to_date(self) -> None:
        """Have the right pages painted, in the right order of need: first what is in view."""
        width, dark = self.scrollable_content_region.width, self.app.current_theme.dark
        if self._painter is None or (self._painter.width, self._painter.dark) != (width, dark):
            self._painter = Painter(width, dark=dark)
            for page in self._window:
                page.version, page.painted = -1, []
        source, last = self._source, self._source.count - 1
        if last < 0:
            self._window = []
            self._lay_out()
            return
        self._window = [page for page in self._window if page.number <= last]
        if self._restart or self._jump is not None or not self._window:
            await self._begin_at(0 if self._jump == 0 or (self._jump is None and not self.following) else last)
        elif self.following and self._window[-1].number < last - 2:
            await self._begin_at(last)
        for at, page in enumerate(list(self._window)):
            stale = page.version == -1 or (page.number == last and page.version != source.version)
            if stale or (page.number == last - 1 and at == len(self._window) - 1):
                self._window[at] = await self._painted(page.number, page)
        self._lay_out()
        await self._fill(last)

    async def _begin_at(self, number: int) -> None:
        at_end = number > 0 or self.following or self._jump == -1
        self._restart, self._jump = False, None
        kept = next((page for page in self._window if page.number == number), None)
        self._window = [await self._painted(number, kept)]
        self._lay_out()
        if not at_end:
            self._move(0)
            return
        await self._fill_above()
        self._to_end()

    async def _fill(self, last: int) -> None:
        """Keep pages ready above and below what is in view, and let go of those far away."""
        margin = _SCREENS * self.size.height
        while (
            self._window[-1].number < last
            and not self._asked
            and (self.following or self._tops[-1] - self.scroll_offset.y - self.size.height < margin)
        ):
            self._window.append(await self._painted(self._window[-1].number + 1))
            self._lay_out()
            if self.following:
                self._to_end()
        if self.following:
            self._to_end()
        await self._fill_above()
        self._trim(margin)

    async def _fill_above(self) -> None:
        margin = _SCREENS * self.size.height
        while (
            self._window[0].number > 0
            and not self._asked
            and (self.scroll_offset.y < margin if not self.following else self._tops[-1] < margin)
        ):
            if len(self._window) >= _MOST_PAGES and self._window[0].lines:
                break
            page = await self._painted(self._window[0].number - 1)
            self._window.insert(0, page)
            self._lay_out()
            self._shift(len(page.lines))

    @property
    def _asked(self) -> bool:
        """Whether somebody wants to be elsewhere in the meantime; then what is being done here can be left."""
        return self._restart or self._jump is not None

    def _trim(self, margin: int) -> None:
        """Drop pages that nobody is near."""
        while len(self._window) > 2 and self.scroll_offset.y - len(self._window[0].lines) > 2 * margin:
            gone = self._window.pop(0)
            self._lay_out()
            self._shift(-len(gone.lines))
        bottom = self.scroll_offset.y + self.size.height
        while len(self._window) > 2 and self._tops[-2] - bottom > 2 * margin:
            self._window.pop()
            self._lay_out()

    async def _painted(self, number: int, earlier: _Page | None = None) -> _Page:
        """Paint a page, a few milliseconds at a time; what has not changed is not painted again."""
        painter = self._painter
        assert painter is not None  # noqa: S101 - the caller has made one
        version = self._source.version
        blocks = [block for block in await self._source.load(number) if not self._hidden(block)]
        page = _Page(number, version, blocks)
        known = dict(zip(earlier.blocks, earlier.painted, strict=True)) if earlier and earlier.painted else {}
        slice_began = time.monotonic()
        for block in blocks:
            strips = None if block.head else known.get(block)
            page.painted.append(strips or painter.paint(block, opened=not self._shut(block.fold)))
            if time.monotonic() - slice_began > _SLICE_S:
                await asyncio.sleep(0)
                slice_began = time.monotonic()
        page.settle()
        return page

    def _lay_out(self) -> None:
        self._tops = list(accumulate((len(page.lines) for page in self._window), initial=0))
        self.virtual_size = Size(self.scrollable_content_region.width, self._tops[-1])
        self.refresh()

    def _shift(self, lines: int) -> None:
        """Keep in view what was in view, though lines have come or gone above it."""
        if not self.following:
            self._move(self.scroll_offset.y + lines)

    def _to_end(self) -> None:
        self._move(self.max_scroll_y)

    def _move(self, line: int) -> None:
        """Scroll on our own account, at once; only a person's scrolling decides whether the end is followed."""
        self._moving = True
        try:
            self.scroll_to(y=line, animate=False, force=True, immediate=True)
        finally:
            self._moving = False
