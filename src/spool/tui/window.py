"""The painted pages around where one looks, and what is folded on them."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from textual.strip import Strip

from spool.tui.blocks import NO_FOLD, Block
from spool.tui.pages import Pages

_SPOILT = -1


class Folds:
    """Which calls and files are folded, and which one is marked."""

    def __init__(self, *, shut: bool) -> None:
        self._all_shut = shut
        self._turned: set[int] = set()
        self.marked = NO_FOLD

    def is_shut(self, fold: int) -> bool:
        """Whether only its head is shown."""
        return self._all_shut != (fold in self._turned)

    def hides(self, block: Block) -> bool:
        """Whether a block is not to be seen now."""
        return block.fold != NO_FOLD and not block.head and self.is_shut(block.fold)

    def turn(self, fold: int) -> None:
        """Fold what is open, or unfold it."""
        self._turned ^= {fold}

    def turn_all(self) -> None:
        """Fold or unfold everything."""
        self._all_shut = not self._all_shut
        self._turned.clear()

    def forget(self) -> None:
        """Begin anew, for another text."""
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
        """Whether it can grow no more."""
        self.painted: list[list[Strip]] = []
        self.lines: list[Strip] = []
        self.owners: list[Block] = []

    def is_old(self, source: Pages) -> bool:
        """Whether it has to be painted again to show what the source holds now."""
        return self.source is not source or (not self._final and self._version != source.version)

    def spoil(self) -> None:
        """Have it painted again: what is folded has changed."""
        self._version, self._final = _SPOILT, False

    def settle(self) -> None:
        """Lay the painted blocks under each other."""
        self.lines = [line for strips in self.painted for line in strips]
        pairs = zip(self.blocks, self.painted, strict=True)
        self.owners = [block for block, strips in pairs for _ in strips]


class Window:
    """Pages that follow each other, and the lines that they make together: always in step, whoever asks in between."""

    def __init__(self) -> None:
        self._pages: list[Page] = []
        self._tops = [0]

    @property
    def pages(self) -> Sequence[Page]:
        """The pages, from top to bottom."""
        return self._pages

    def set(self, pages: Iterable[Page]) -> None:
        """Hold these pages."""
        self._pages = list(pages)
        self._tops = list(accumulate((len(page.lines) for page in self._pages), initial=0))

    def put(self, page: Page) -> None:
        """Take a page in the place of the one with its number, or at one end."""
        others = [one for one in self._pages if one.number != page.number]
        self.set(sorted([*others, page], key=lambda one: one.number))

    def drop(self, page: Page) -> None:
        """Let go of a page at one end."""
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
        """How many lines there are."""
        return self._tops[-1]

    def top_of(self, page: int) -> int:
        """Return the first line of a page, which may be counted from the end."""
        return self._tops[: len(self.pages)][page]

    def find(self, line: int) -> Page | None:
        """Return the page that holds a line."""
        return self.pages[bisect_right(self._tops, line) - 1] if 0 <= line < self.height else None

    def line(self, line: int) -> tuple[Strip, Block] | None:
        """Return a line, and the block that it belongs to."""
        page = self.find(line)
        if page is None:
            return None
        at = line - self._tops[page.number - self.first.number]
        return page.lines[at], page.owners[at]

    def heads(self) -> list[tuple[int, int]]:
        """Return the lines that fold something, and what they fold."""
        owners = (owner for page in self.pages for owner in page.owners)
        return [(line, owner.fold) for line, owner in enumerate(owners) if owner.head]

    def estimate(self, line: int, count: int) -> tuple[int, int]:
        """Return where a line stands in the whole text, and how long that is; exact if every page is here."""
        if not self.pages:
            return 0, 0
        average = self.height / len(self.pages)
        above = average * self.first.number
        return round(above) + line, round(average * (count - len(self.pages))) + self.height
