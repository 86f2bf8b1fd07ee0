"""The pages: which address shows what. All reading happens in threads; nothing here starts an agent."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from pkgutil import get_data
from typing import ParamSpec, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from spool.app.loops.control import ask_to_stop
from spool.app.loops.following import journal_page
from spool.app.loops.loop_list import history, known
from spool.app.loops.notes import add_note_to
from spool.app.reporting.live_histories import Accounts, FollowedLoop
from spool.app.reporting.loop_reports import story_diff
from spool.app.starting.crash import write_crash
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError
from spool.views import words
from spool.views.report.parts import text
from spool.views.report.style import STYLE
from spool.web import frame
from spool.web.access import Access
from spool.web.guard import RequestGuard, TooMuch, read_form
from spool.web.links import STATIC, Links
from spool.web.live_stream import Follower, follow_list, follow_loop, number
from spool.web.loop_list import list_page, list_panels
from spool.web.loop_page import control_forms, loop_page, loop_panels
from spool.web.page_transcript import PageTranscript, whole_text
from spool.web.shared import Shared
from spool.web.story_page import story_page, story_title

_MOST_STREAMS = 32
_DIFFS_AT_ONCE = 2
_RECORDS = 1_000
"""The latest iterations among which those of a story are looked for."""
_FRESH_S = 0.8
_BY = "spool web"
_DAMAGED = "The journal of this loop is damaged"
_Given = ParamSpec("_Given")
_Drawn = TypeVar("_Drawn")
_GONE = "No such loop. It may have been removed from the list, which keeps the last hundred that ended."


class Site:
    """The pages' shared state: the accounts, and results that several browsers request at once."""

    def __init__(self, links: Links, *, control: bool) -> None:
        self._links = links
        self._control = control
        self._accounts = Accounts()
        self._runs: Shared[list[LoopSummary]] = Shared(_FRESH_S)
        self._live: Shared[FollowedLoop] = Shared(_FRESH_S)
        self._panels: Shared[dict[str, str]] = Shared(_FRESH_S)
        self._streams = 0
        self._diffs = asyncio.Semaphore(_DIFFS_AT_ONCE)
        self.over = asyncio.Event()
        """Set when the server ends, so that streams end too."""

    def routes(self) -> list[Route]:
        """Return the routes below the base; those that act exist only if control was asked for."""
        found = [
            Route("/", self.loops),
            Route("/stream", self.loops_stream),
            Route("/loop/{name}", self.loop),
            Route("/loop/{name}/stream", self.loop_stream),
            Route("/loop/{name}/story", self.story),
            Route("/loop/{name}/log", self.log),
            Route("/loop/{name}/output", self.output),
        ]
        if self._control:
            found.append(Route("/loop/{name}/stop", self.stop, methods=["POST"]))
            found.append(Route("/loop/{name}/note", self.note, methods=["POST"]))
        return found

    async def loops(self, _: Request) -> Response:
        """Show all loops."""
        panels = await self._list_panels()
        return HTMLResponse(frame.document(panels["title"], list_page(panels, self._links), live=True))

    async def loops_stream(self, _: Request) -> Response:
        """Follow the list of loops."""
        return self._stream(follow_list(self._list_panels, self.over))

    async def loop(self, request: Request) -> Response:
        """Show one loop."""
        loop = await self._find(request)
        live, panels = await self._account(loop), await self._loop_panels(loop)
        stream = await asyncio.to_thread(journal_page, loop)
        controls = control_forms(loop, self._links) if self._control else ""
        body = await _drawn(loop_page, live, panels, stream, self._links, controls)
        return HTMLResponse(frame.document(panels["title"], body, up=self._above(), live=True))

    async def loop_stream(self, request: Request) -> Response:
        """Follow one loop; a browser that returns continues where it was."""
        loop = await self._find(request)
        cursor = request.headers.get("last-event-id") or request.query_params.get("from", "")
        latest = loop

        async def panels() -> dict[str, str] | None:
            nonlocal latest
            latest = _latest(await self._all(), loop.id) or latest
            return await self._loop_panels(latest)

        follower = Follower(self._links, loop, cursor)
        return self._stream(follow_loop(follower, panels, lambda: latest.running, self.over))

    async def story(self, request: Request) -> Response:
        """Show one story, with what its gates found and what it changed."""
        loop = await self._find(request)
        live, wanted = await self._account(loop), request.query_params.get("id", "")
        story = next((one for one in live.account.history.stories if one.id == wanted), None)
        if story is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, "No such story.")
        records = [
            one for one in await asyncio.to_thread(history, loop, last=_RECORDS) if (one.story_id or "") == story.id
        ]
        async with self._diffs:
            diff = await story_diff(live.account, story)
        title, up = story_title(story), self._above(loop)
        body = await _drawn(lambda: "".join(story_page(live, story, records, diff, self._links)))
        return HTMLResponse(frame.document(title, body, up=up))

    async def log(self, request: Request) -> Response:
        """Show a page of the agent's stream: its end, the events before a place, or those from a place on."""
        loop = await self._find(request)
        before, at = (number(request.query_params.get(name, "")) for name in ("before", "at"))
        page = await asyncio.to_thread(journal_page, loop, before=before or None, at=at)
        if page is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, "Its journal is gone.")
        blocks = await _drawn(PageTranscript(self._links, loop).take, page.rows)
        earlier = _link(self._links.log(loop, before=page.start), "Earlier") if page.start else ""
        later = _link(self._links.log(loop, at=page.stop), "Later") if page.stop < page.size else ""
        ends = f"<p>{earlier} {later}</p>" if earlier or later else ""
        body = (
            f'<main id="main"><h1>{text(words.named(loop))}</h1><h2>Agent</h2>{ends}'
            f'<div class="blocks">{blocks}</div>{ends}</main>'
        )
        return HTMLResponse(frame.document(f"Agent of {loop.change}", body, up=self._above(loop)))

    async def output(self, request: Request) -> Response:
        """Show one message or tool output, uncut, as plain text."""
        loop, at = await self._find(request), number(request.query_params.get("at", ""))
        page = await asyncio.to_thread(journal_page, loop, at=at) if at is not None else None
        found = whole_text(page.rows[0].event) if page and page.rows and page.rows[0].start == at else ""
        if not found:
            raise HTTPException(HTTPStatus.NOT_FOUND, "No such output.")
        return PlainTextResponse(found.encode("utf-8", "replace"))

    async def stop(self, request: Request) -> Response:
        """Ask a loop to stop."""
        loop = await self._find(request)
        asked = loop.running and await asyncio.to_thread(ask_to_stop, loop, _BY)
        said = "It ends its agent, and then itself." if asked else "It was not running any more."
        return self._done("A stop is requested" if asked else "Nothing to stop", said, loop)

    async def note(self, request: Request) -> Response:
        """Add a note for all later prompts of a loop."""
        loop = await self._find(request)
        try:
            given = (await read_form(request)).get("note", "").replace("\r\n", "\n")
            await asyncio.to_thread(add_note_to, loop, given)
        except TooMuch:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The note is too long.") from None
        except (SpoolError, OSError) as error:
            raise HTTPException(HTTPStatus.BAD_REQUEST, str(error)) from None
        return self._done("The note is added", "Every later prompt of this loop includes it.", loop)

    def _done(self, title: str, said: str, loop: LoopSummary) -> Response:
        back = f"<p>{_link(self._links.loop(loop), 'Back to the loop')}</p>"
        return HTMLResponse(frame.notice(title, said, more=back))

    def _stream(self, parts: AsyncIterator[str]) -> Response:
        if self._streams >= _MOST_STREAMS:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages follow loops already.")
        self._streams += 1
        return _Stream(parts, self._stream_ended)

    def _stream_ended(self) -> None:
        self._streams -= 1

    async def _find(self, request: Request) -> LoopSummary:
        """Return the loop of an address: no path is ever built from what a browser sends."""
        if (loop := _latest(await self._all(), request.path_params["name"])) is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, _GONE)
        return loop

    async def _all(self) -> list[LoopSummary]:
        return await self._runs.get("runs", lambda: asyncio.to_thread(known))

    async def _account(self, loop: LoopSummary) -> FollowedLoop:
        return await self._live.get((loop.folder, loop.run_id), lambda: _drawn(self._accounts.of, loop))

    async def _loop_panels(self, loop: LoopSummary) -> dict[str, str]:
        live = await self._account(loop)
        key = (loop.folder, loop.run_id)
        return await self._panels.get(key, lambda: _drawn(loop_panels, live, self._links, datetime.now(UTC)))

    async def _list_panels(self) -> dict[str, str]:
        loops = list({loop.folder: loop for loop in await self._all()}.values())
        return await self._panels.get("list", lambda: _drawn(list_panels, loops, self._links, datetime.now(UTC)))

    def _above(self, loop: LoopSummary | None = None) -> tuple[tuple[str, str], ...]:
        inner = ((self._links.loop(loop), one_line(loop.change, 60)),) if loop else ()
        return ((self._links.base, "Loops"), *inner)


class _Stream(StreamingResponse):
    """A stream that counts from when it is granted, not from its first part: a burst would pass the limit."""

    def __init__(self, parts: AsyncIterator[str], ended: Callable[[], None]) -> None:
        super().__init__(parts, media_type="text/event-stream")
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the parts, and report the end, also of one that a browser left before the first part."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()


def build_site(access: Access, *, control: bool) -> tuple[ASGIApp, Site]:
    """Return the guarded application, and what ends its streams."""
    site = Site(Links(access.base), control=control)
    pages = Starlette(
        routes=[Route(f"{STATIC}{{name}}", _static), Mount(access.base.rstrip("/"), routes=site.routes())],
        exception_handlers={HTTPException: _say, Exception: _fail},
    )
    return RequestGuard(pages, access), site


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    kind = {"page.css": "text/css", "live.js": "text/javascript", "icon.svg": "image/svg+xml"}.get(name)
    if kind is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "No such file.")
    before = STYLE.encode() if name == "page.css" else b""
    return Response(before + (get_data("spool.web", f"assets/{name}") or b""), media_type=kind)


async def _say(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - starlette calls it with nothing else
    status = HTTPStatus(error.status_code)
    return HTMLResponse(frame.notice(status.phrase, error.detail), status, headers=error.headers)


async def _fail(_: Request, error: Exception) -> Response:
    path = await asyncio.to_thread(write_crash, None, error)
    return HTMLResponse(frame.notice("Internal error", f"The details are in {path}." if path else ""), 500)


async def _drawn(draw: Callable[_Given, _Drawn], *given: _Given.args, **more: _Given.kwargs) -> _Drawn:
    """Draw a part of a page in a thread; a journal with times that no calendar has is called damaged."""
    try:
        return await asyncio.to_thread(draw, *given, **more)
    except (ArithmeticError, ValueError) as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"{_DAMAGED}: {one_line(str(error))}") from None


def _link(href: str, name: str) -> str:
    return f'<a href="{href}">{name}</a>'


def _latest(runs: list[LoopSummary], name: str) -> LoopSummary | None:
    """Return the loop that a run belongs to, by its latest run."""
    found = next((loop for loop in runs if name in (loop.id, loop.run_id)), None)
    return next((loop for loop in reversed(runs) if found is not None and loop.folder == found.folder), None)
