"""Reads a journal page by page, from its end, before or after any place, without holding it open.

A page is bounded in bytes, whatever the length of the journal; a line that is longer than `LONGEST` is not read.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from spool.domain.loop.summary import LoopSummary
from spool.host.state.feed import JournalEntry, rows_in
from spool.host.state.files import opened
from spool.host.state.loop_store import StateFolder

__all__ = ["JournalEntry", "JournalPage", "page_after", "page_at_end", "page_before"]

PAGE = 1 << 17
"""Bytes of a page: about 400 events."""
LONGEST = 1 << 23


class JournalPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some neighbouring events of a journal."""

    journal: int
    """Identifies the file: a fresh run begins another one."""
    start: int
    stop: int
    size: int
    """The size of the journal when it was read."""
    rows: tuple[JournalEntry, ...] = ()


_Part = tuple[int, bytes]
"""An offset, and whole lines from there."""


def page_at_end(loop: LoopSummary) -> JournalPage | None:
    """Return the last events; None without a journal."""
    return _page(loop, _before)


def page_before(loop: LoopSummary, stop: int) -> JournalPage | None:
    """Return the events before a place; None without a journal."""
    return _page(loop, lambda descriptor, size: _before(descriptor, min(max(0, stop), size)))


def page_after(loop: LoopSummary, start: int) -> JournalPage | None:
    """Return the events from a place on, as far as they are written; None without a journal."""
    return _page(loop, lambda descriptor, size: _after(descriptor, start) if 0 <= start <= size else (size, b""))


def _page(loop: LoopSummary, read: Callable[[int, int], _Part]) -> JournalPage | None:
    try:
        with opened(StateFolder(Path(loop.folder)).journal, os.O_RDONLY) as descriptor:
            found = os.fstat(descriptor)
            start, data = read(descriptor, found.st_size)
    except OSError:
        return None
    rows = tuple(rows_in(data, start))
    return JournalPage(journal=found.st_ino, start=start, stop=start + len(data), size=found.st_size, rows=rows)


def _after(descriptor: int, start: int) -> _Part:
    data = os.pread(descriptor, PAGE, start)
    while data and b"\n" not in data:
        if len(data) >= LONGEST:
            return start + len(data), b""  # what follows of this line is no event, and is skipped
        more = os.pread(descriptor, len(data), start + len(data))
        if not more:
            return start, b""
        data += more
    return start, data[: data.rfind(b"\n") + 1]


def _before(descriptor: int, stop: int) -> _Part:
    """Return the whole lines that end before a place; the line that it cuts is left out."""
    length = PAGE
    while True:
        start = max(0, stop - length)
        data = os.pread(descriptor, stop - start, start)
        first = 0 if start == 0 else data.find(b"\n") + 1
        last = data.rfind(b"\n") + 1
        if start == 0 or first < last:
            return start + first, data[first:last]
        if length >= LONGEST:
            return start, b""
        length *= 2
