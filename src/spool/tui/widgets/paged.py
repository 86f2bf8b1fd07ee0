"""A view of a text of any length. It paints only a few pages around the visible part."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from spool.tui.blocks import NO_FOLD
from spool.tui.pages import BlockPages, Pages
from spool.tui.paint import NARROWEST, Painter
from spool.tui.theme import selected_style
from spool.tui.window import Folds, Page, PageWindow

_SLICE_S = 0.006
"""Maximum seconds of painting before key presses are handled, which must take less than 50 ms."""
_MOST_PAGES = 24
_SCREENS = 2
"""The number of screenfuls kept painted above and below."""
_END = -1
_BAR = 2
"""The columns of the scrollbar and the gap beside it."""
_THUMB = Segment(" ┃", Style(dim=True))
_TRACK = Segment("  ")


class PagedView(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows pages; with `follow`, keeps the end in view until the user scrolls up.

    It draws its own scrollbar: Textual's covers only the painted pages, not the whole text.
    """

    DEFAULT_CSS = """
    PagedView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 0; padding: 0 0 0 1; }
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

    @dataclass
    class Chosen(Message):
        """A head was clicked, or Enter was pressed on the marked one."""

        fold: int

    def __init__(self, *, follow: bool = False, folded: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._source: Pages = BlockPages(())
        self._painting: Pages = self._source
        """The source being painted; `_source` may change meanwhile."""
        self._follow = follow
        self.following = follow
        self._folds = Folds(shut=folded)
        self._window = PageWindow()
        self._painter: Painter | None = None
        self._jump: int | None = None
        self._restart = True
        self._moving = False
        self._known = -1
        """The version of the source that is painted, or about to be."""
        self._work = asyncio.Event()

    def show(self, source: Pages, *, stay: bool = False, at: int | None = None) -> None:
        """Show a text; `stay` keeps the scroll position, for a newer version of the same text; `at` is a page."""
        if source is self._source:
            self._paint_anew()
        self._source, self._known = source, source.version
        if at is not None:
            self._go_to(at)
        elif not stay:
            self._folds.forget()
            self._restart = True
            self.following = self._follow
        self._work.set()

    @property
    def first_page(self) -> int | None:
        """The page at the top of the visible part, unless the end is followed."""
        page = None if self.following else self._window.find(self.scroll_offset.y)
        return page.number if page else None

    @property
    def marked(self) -> int:
        """The fold that is marked."""
        return self._folds.marked

    def mark(self, fold: int) -> None:
        """Mark a fold."""
        self._folds.marked = fold
        self.refresh()

    def grown(self) -> None:
        """Paint more text at the end, if there is any."""
        if self._source.version != self._known:
            self._known = self._source.version
            self._work.set()

    @property
    def place(self) -> tuple[int, int]:
        """The last visible page, counted from 1, and the number of pages."""
        page = self._window.find(self.scroll_offset.y + max(1, self.size.height) - 1)
        return page.number + 1 if page else 0, self._source.count

    def on_mount(self) -> None:
        """Start painting."""
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
        width = self.size.width
        found = self._window.line(y + self.scroll_offset.y)
        strip = Strip.blank(width) if found is None else found[0]
        if found is not None and found[1].head and found[1].fold == self._folds.marked:
            marked = Style.parse(selected_style(self.app.current_theme))
            strip = strip.extend_cell_length(max(0, width - _BAR)).apply_style(marked)
        text = strip.adjust_cell_length(max(0, width - _BAR))
        return Strip([*text, _THUMB if y in self._thumb() else _TRACK]).crop(0, width).apply_style(self.rich_style)

    def _thumb(self) -> range:
        """Return the lines of the scrollbar's thumb; none if everything is visible."""
        height = self.size.height
        top, total = self._window.estimate(self.scroll_offset.y, self._source.count)
        if total <= height:
            return range(0)
        size = max(1, height * height // total)
        share = 1 if self._at_end() else min(1, top / (total - height))
        first = round(share * (height - size))
        return range(first, first + size)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Load more pages in the direction of scrolling."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) == round(new_value) or self._moving:
            return
        if self._at_end():
            self.following = self._follow
        elif new_value < min(old_value, self.max_scroll_y):  # not if a shorter text moved it up
            self.following = False
        self._work.set()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start dragging the scrollbar."""
        if event.x >= self.outer_size.width - _BAR:
            self.capture_mouse()
            self._drag(event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Scroll to where the scrollbar is dragged."""
        if self.app.mouse_captured is self:
            self._drag(event.y)

    def on_mouse_up(self) -> None:
        """Stop dragging the scrollbar."""
        self.release_mouse()

    def _drag(self, y: int) -> None:
        last, pages = max(1, self.size.height - 1), self._source.count
        if y >= last:
            self.action_last()
        elif len(self._window.pages) == pages:
            self.scroll_to(y=self.max_scroll_y * max(0, y) // last)
        else:
            self._go_to(pages * max(0, y) // last)

    def on_click(self, event: events.Click) -> None:
        """Fold or unfold the clicked block."""
        at = event.get_content_offset(self)
        found = None if at is None else self._window.line(at.y + self.scroll_offset.y)
        if at is not None and at.x < self.size.width - _BAR and found is not None and found[1].head:
            self._folds.marked = found[1].fold
            self.action_fold()

    def scroll_to(self, *place: Any, **options: Any) -> None:
        """Scroll at once; a text that grows would cut Textual's animation short, and the key would be lost."""
        super().scroll_to(*place, **{**options, "animate": False})

    def action_first(self) -> None:
        """Scroll to the start."""
        self._go_to(0)

    def action_last(self) -> None:
        """Scroll to the end and follow it."""
        self._go_to(_END)

    def _go_to(self, page: int) -> None:
        self.following = self._follow and page == _END
        self._jump = page
        self._work.set()

    def action_mark(self, step: int) -> None:
        """Mark the next or previous fold, and scroll to it."""
        heads = self._window.heads()
        if not heads:
            return
        keys = [fold for _, fold in heads]
        top = self.scroll_offset.y
        if self._folds.marked in keys:
            chosen = max(0, min(len(keys) - 1, keys.index(self._folds.marked) + step))
        else:
            after = [number for number, (line, _) in enumerate(heads) if line >= top]
            above = [number for number, (line, _) in enumerate(heads) if line < top + self.size.height]
            chosen = (after[0] if after else len(heads) - 1) if step > 0 else (above[-1] if above else 0)
        line, self._folds.marked = heads[chosen]
        if not top <= line < top + self.size.height:
            self.scroll_to(y=max(0, line - self.size.height // 3))
        self.refresh()

    def action_fold(self) -> None:
        """Fold or unfold the marked block."""
        if self._folds.marked != NO_FOLD:
            self._folds.turn(self._folds.marked)
            self._paint_anew()
            self.post_message(self.Chosen(self._folds.marked))

    def action_fold_all(self) -> None:
        """Fold or unfold everything."""
        self._folds.turn_all()
        self._paint_anew()

    def _paint_anew(self) -> None:
        for page in self._window.pages:
            page.spoil()
        self._work.set()

    def _at_end(self) -> bool:
        pages = self._window.pages
        return (not pages or pages[-1].number >= self._source.count - 1) and self.scroll_offset.y >= self.max_scroll_y

    async def _keep_up(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            if self.size.width and self.size.height:
                await self._bring_up_to_date()

    async def _bring_up_to_date(self) -> None:
        """Paint the missing pages, visible ones first."""
        window, dark = self._window, self.app.current_theme.dark
        width = max(NARROWEST, self.size.width - _BAR)
        if self._painter is None or (self._painter.width, self._painter.dark) != (width, dark):
            self._painter = Painter(width, dark=dark)
            for page in window.pages:
                page.spoil()
                page.painted = []
        source = self._painting = self._source
        last = source.count - 1
        window.set(page for page in window.pages if page.number <= last)
        if last < 0:
            self._lay_out()
            return
        if self._restart or self._jump is not None or not window.pages:
            to_end = self._jump == _END or (self._jump is None and self.following)
            await self._begin_at(last if to_end else min(last, self._jump or 0), to_end=to_end)
        elif self.following and window.last.number < last - 2:
            await self._begin_at(last, to_end=True)
        for page in list(window.pages):
            if self._asked:
                return
            if page.is_old(source):
                window.put(await self._painted(page.number, page))
        self._lay_out()
        await self._fill(last)

    async def _begin_at(self, number: int, *, to_end: bool) -> None:
        self._restart, self._jump = False, None
        kept = next((page for page in self._window.pages if page.number == number), None)
        self._window.set([await self._painted(number, kept)])
        self._lay_out()
        if not to_end:
            self._move(0)
            return
        await self._fill_above()
        self._to_end()

    async def _fill(self, last: int) -> None:
        """Paint pages above and below the visible part, and drop those far away."""
        window, margin = self._window, _SCREENS * self.size.height
        while (
            window.last.number < last
            and not self._asked
            and (self.following or window.height - self.scroll_offset.y - self.size.height < margin)
        ):
            window.put(await self._painted(window.last.number + 1))
            self._lay_out()
            if self.following:
                self._to_end()
        await self._fill_above()
        self._trim(margin)
        if self.following:
            self._to_end()
        self.refresh()  # a scroll repaints the lines that move; the scrollbar's thumb is on the others too

    async def _fill_above(self) -> None:
        window, margin = self._window, _SCREENS * self.size.height
        while (
            window.first.number > 0
            and not self._asked
            and (self.scroll_offset.y < margin if not self.following else window.height < margin)
        ):
            if len(window.pages) >= _MOST_PAGES and window.first.lines:
                break
            page = await self._painted(window.first.number - 1)
            window.put(page)
            self._lay_out()
            self._shift(len(page.lines))

    @property
    def _asked(self) -> bool:
        """Whether a newer request makes the current painting obsolete."""
        return self._restart or self._jump is not None or self._source is not self._painting

    def _trim(self, margin: int) -> None:
        """Drop pages far from the visible part."""
        window = self._window
        while len(window.pages) > 2 and self.scroll_offset.y - len(window.first.lines) > 2 * margin:
            gone = window.first
            window.drop(gone)
            self._lay_out()
            self._shift(-len(gone.lines))
        bottom = self.scroll_offset.y + self.size.height
        while len(window.pages) > 2 and window.top_of(-1) - bottom > 2 * margin:
            window.drop(window.last)
            self._lay_out()

    async def _painted(self, number: int, earlier: Page | None = None) -> Page:
        """Paint a page, a few milliseconds at a time; reuse blocks that have not changed."""
        painter = self._painter
        assert painter is not None  # noqa: S101 - the caller has made one
        source, version, count = self._painting, self._painting.version, self._painting.count
        blocks = [block for block in await source.load(number) if not self._folds.hides(block)]
        page = Page(source, number, blocks, version, final=number < count - 2)  # a line may end on the next page
        known = dict(zip(earlier.blocks, earlier.painted, strict=True)) if earlier and earlier.painted else {}
        slice_began = time.monotonic()
        for block in blocks:
            strips = None if block.head else known.get(block)
            page.painted.append(strips or painter.paint(block, opened=not self._folds.is_shut(block.fold)))
            if time.monotonic() - slice_began > _SLICE_S:
                await asyncio.sleep(0)
                slice_began = time.monotonic()
        page.settle()
        return page

    def _lay_out(self) -> None:
        self.virtual_size = Size(self.size.width, self._window.height)
        self.refresh()

    def _shift(self, lines: int) -> None:
        """Keep the same lines visible after lines were added or removed above."""
        if not self.following:
            self._move(self.scroll_offset.y + lines)

    def _to_end(self) -> None:
        self._move(self.max_scroll_y)

    def _move(self, line: int) -> None:
        """Scroll immediately, without changing `following`, which only the user's scrolling does."""
        self._moving = True
        try:
            self.scroll_to(y=line, force=True, immediate=True)
        finally:
            self._moving = False
