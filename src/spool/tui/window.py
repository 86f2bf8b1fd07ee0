"""The painted pages around the visible part, and their folds."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from textual.strip import Strip

from spool.tui.blocks import NO_FOLD, Block
from spool.tui.pages import Pages

_SPOILT = -1


class Folds:
    """The folded calls and files, and the marked one."""

    def __init__(self, *, shut: bool) -> None:
        self._all_shut = shut
        self._turned: set[int] = set()
        self.marked = NO_FOLD

    def is_shut(self, fold: int) -> bool:
        """Whether only the fold's head is shown."""
        return self._all_shut != (fold in self._turned)

    def hides(self, block: Block) -> bool:
        """Whether a block is hidden."""
        inside = block.within != NO_FOLD and self.is_shut(block.within)
        return inside or (block.fold != NO_FOLD and not block.head and self.is_shut(block.fold))

    def turn(self, fold: int) -> None:
        """Toggle a fold."""
        self._turned ^= {fold}

    def turn_all(self) -> None:
        """Fold or unfold everything."""
        self._all_shut = not self._all_shut
        self._turned.clear()

    def forget(self) -> None:
        """Reset, for another text."""
        self._turned.clear()
        self.marked = NO_FOLD


class Page:
    """A painted page."""

    def __init__(self, source: Pages, number: int, blocks: list[Block], version: int, *, final: bool) -> None:
        self.source = source
        self.number = number
        self.blocks = blocks
        self._version = version
        self._final = final
        """Whether it can no longer grow."""
        self.painted: list[list[Strip]] = []
        self.lines: list[Strip] = []
        self.owners: list[Block] = []

    def is_old(self, source: Pages) -> bool:
        """Whether it must be repainted to show the current source."""
        return self.source is not source or (not self._final and self._version != source.version)

    def spoil(self) -> None:
        """Mark it for repainting."""
        self._version, self._final = _SPOILT, False

    def settle(self) -> None:
        """Join the lines of the painted blocks."""
        self.lines = [line for strips in self.painted for line in strips]
        pairs = zip(self.blocks, self.painted, strict=True)
        self.owners = [block for block, strips in pairs for _ in strips]


class PageWindow:
    """Consecutive pages and their lines, always consistent with each other."""

    def __init__(self) -> None:
        self._pages: list[Page] = []
        self._tops = [0]

    @property
    def pages(self) -> Sequence[Page]:
        """The pages, from top to bottom."""
        return self._pages

    def set(self, pages: Iterable[Page]) -> None:
        """Replace the pages."""
        self._pages = list(pages)
        self._tops = list(accumulate((len(page.lines) for page in self._pages), initial=0))

    def put(self, page: Page) -> None:
        """Replace the page with the same number, or add one at either end."""
        others = [one for one in self._pages if one.number != page.number]
        self.set(sorted([*others, page], key=lambda one: one.number))

    def drop(self, page: Page) -> None:
        """Remove a page at either end."""
        self.set(one for one in self._pages if one is not page)

    @property
    def first(self) -> Page:
        """The page at the top."""
        return self._pages[0]

    @property
    def last(self) -> Page:
        """The page at the bottom."""
        return self._pages[-1]

    @property
    def height(self) -> int:
        """The number of lines."""
        return self._tops[-1]

    def top_of(self, page: int) -> int:
        """Return the first line of a page; a negative index counts from the end."""
        return self._tops[: len(self.pages)][page]

    def find(self, line: int) -> Page | None:
        """Return the page that contains a line, or None."""
        return self.pages[bisect_right(self._tops, line) - 1] if 0 <= line < self.height else None

    def line(self, line: int) -> tuple[Strip, Block] | None:
        """Return a line and its block, or None."""
        page = self.find(line)
        if page is None:
            return None
        at = line - self._tops[page.number - self.first.number]
        return page.lines[at], page.owners[at]

    def heads(self) -> list[tuple[int, int]]:
        """Return the lines that are heads, each with its fold."""
        owners = (owner for page in self.pages for owner in page.owners)
        return [(line, owner.fold) for line, owner in enumerate(owners) if owner.head]

    def estimate(self, line: int, count: int) -> tuple[int, int]:
        """Return a line's position in the whole text and the text's length; exact if all pages are loaded."""
        if not self.pages:
            return 0, 0
        average = self.height / len(self.pages)
        above = average * self.first.number
        return round(above) + line, round(average * (count - len(self.pages))) + self.height
