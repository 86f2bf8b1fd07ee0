"""Server-sent events: the agent's stream from the journal, and the parts of a page that have changed.

Nothing is held for a browser but its place in the journal. One that falls far behind, or was away for long, starts anew
at the end.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from spool.app.loops.following import JournalPage, journal_page
from spool.domain.loop.summary import LoopSummary
from spool.views.say import json_text
from spool.web.links import Links
from spool.web.page_transcript import PageTranscript

_POLL_S = 0.4
_QUIET_S = 2.0
"""The interval for the journal of a loop that does not run: it may be continued."""
_HEARTBEAT_S = 15.0
_BEHIND = 1 << 20
"""Bytes of the journal that a browser may be behind; more is skipped."""
Panels = Callable[[], Awaitable[dict[str, str] | None]]


class Changed:
    """Remembers which parts of a page a browser has."""

    def __init__(self) -> None:
        self._sent: dict[str, int] = {}

    def of(self, panels: dict[str, str]) -> dict[str, str]:
        """Return the parts that are new."""
        new = {name: shown for name, shown in panels.items() if self._sent.get(name) != hash(shown)}
        self._sent |= {name: hash(shown) for name, shown in new.items()}
        return new


class Follower:
    """Follows one journal for one browser."""

    def __init__(self, links: Links, loop: LoopSummary, cursor: str) -> None:
        self._links = links
        self._loop = loop
        self._transcript = PageTranscript(links, loop)
        journal, _, offset = cursor.partition("-")
        self._journal = number(journal)
        self._offset = number(offset)

    def read(self) -> tuple[str, bool]:
        """Return the next server-sent event, or an empty text, and whether more is waiting."""
        page = journal_page(self._loop, at=None if self._journal is None else self._offset or 0)
        if page is None:
            return "", False
        lost = page.journal != self._journal or self._offset is None or not self._near(page)
        if lost:
            page = journal_page(self._loop) or page
            self._transcript, self._journal = PageTranscript(self._links, self._loop), page.journal
        self._offset = page.stop
        shown = self._transcript.take(page.rows)
        if not shown and not lost:
            return "", page.stop < page.size and bool(page.rows)
        earlier = self._links.log(self._loop, before=page.start) if lost and page.start else ""
        data = {"html": shown, "anew": lost, "earlier": earlier}
        resume = self._transcript.resumes_at if page.rows else page.stop
        return sse("log", data, f"{page.journal}-{resume}"), page.stop < page.size

    def _near(self, page: JournalPage) -> bool:
        return self._offset is not None and 0 <= page.size - self._offset <= _BEHIND


async def follow_loop(
    follower: Follower, panels: Panels, running: Callable[[], bool], over: asyncio.Event
) -> AsyncIterator[str]:
    """Yield the agent's stream as it comes, and the parts of the page that change."""
    changed, quiet_s = Changed(), 0.0
    yield "retry: 2000\n\n"
    while not over.is_set():
        shown, more = await asyncio.to_thread(follower.read)
        if shown:
            yield shown
        found = await panels()
        if found is None:
            return
        if new := changed.of(found):
            yield sse("panels", new)
        quiet_s = 0.0 if shown or new else quiet_s
        if not more:
            quiet_s += await _rest(over, _POLL_S if running() else _QUIET_S)
        if quiet_s >= _HEARTBEAT_S:
            quiet_s = 0.0
            yield ": still here\n\n"


async def follow_list(panels: Panels, over: asyncio.Event) -> AsyncIterator[str]:
    """Yield the parts of the list of loops that change."""
    changed, quiet_s = Changed(), 0.0
    yield "retry: 2000\n\n"
    while not over.is_set():
        if new := changed.of(await panels() or {}):
            quiet_s = 0.0
            yield sse("panels", new)
        quiet_s += await _rest(over, 1.0)
        if quiet_s >= _HEARTBEAT_S:
            quiet_s = 0.0
            yield ": still here\n\n"


def sse(name: str, data: dict[str, Any], place: str = "") -> str:
    """Return a server-sent event; a browser that returns names the place of the last one."""
    return f"event: {name}\ndata: {json_text(data)}\n{f'id: {place}{chr(10)}' if place else ''}\n"


def number(given: str) -> int | None:
    """Return a number that somebody sent, or None if it is none."""
    return int(given) if given.isascii() and given.isdigit() and len(given) <= 19 else None


async def _rest(over: asyncio.Event, seconds: float) -> float:
    """Wait, but not beyond the end of the server; return the seconds."""
    with suppress(TimeoutError):
        await asyncio.wait_for(over.wait(), seconds)
    return seconds
