"""Guards every page: refuses foreign requests, lets sessions in, and adds the security headers."""

import asyncio
from collections import Counter
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spool.web import frame
from spool.web.access import Access
from spool.web.links import STATIC

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": a browser would then send "Origin: null" with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
    # One request per connection: a client that goes silent in the middle of the next one holds nothing.
    "connection": "close",
}
_LARGEST_FORM = 1 << 20
_FORM_S = 8.0
_WRONG_S = 1.0
_AT_ONCE = 4
"""Passwords that one address may try at a time, each of which takes a second if it is wrong."""
_SAID = {
    HTTPStatus.MISDIRECTED_REQUEST: "This server has another name. Open the address that spool web printed.",
    HTTPStatus.FORBIDDEN: "Another site's page asked for this. Open the address that spool web printed.",
}


class TooMuch(Exception):
    """A form is too large, or takes too long to arrive."""


class RequestGuard:
    """The outermost layer of the server."""

    def __init__(self, pages: ASGIApp, access: Access) -> None:
        self._pages = pages
        self._access = access
        self._trying: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on to the pages."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = await self._answer(Request(scope, receive))
        await (answer or self._pages)(scope, receive, send_guarded)

    async def _answer(self, request: Request) -> Response | None:
        """Return the answer to a request that the pages do not get."""
        if refused := self._access.refusal(request.method, request.headers):
            return HTMLResponse(frame.notice("Refused", _SAID[refused]), refused)
        path = request.scope["path"]
        if path.startswith(STATIC):
            return None
        if path == "/":
            return await self._enter(request)
        if path.startswith(self._access.base) and self._access.has_session(request.headers):
            return None
        return HTMLResponse(self._closed(), HTTPStatus.UNAUTHORIZED)

    async def _enter(self, request: Request) -> Response:
        opened = {"set-cookie": self._access.cookie}
        if self._access.opens(QueryParams(request.scope["query_string"]).get("token", "")):
            quiet = {"referrer-policy": "no-referrer"}  # the address with the token is not named on the way in
            return HTMLResponse(frame.entrance(self._access.base), headers={**opened, **quiet})
        if not self._access.needs_password:
            return HTMLResponse(self._closed(), HTTPStatus.UNAUTHORIZED)
        if request.method != "POST":
            return HTMLResponse(frame.login(wrong=False))
        right = await self._try_password(request)
        if right is None:
            return HTMLResponse(frame.notice("Too many tries at once"), HTTPStatus.TOO_MANY_REQUESTS)
        if not right:
            return HTMLResponse(frame.login(wrong=True), HTTPStatus.UNAUTHORIZED)
        return RedirectResponse(self._access.base, HTTPStatus.SEE_OTHER, headers=opened)

    async def _try_password(self, request: Request) -> bool | None:
        """Return whether the posted password is right; None if this address tries too many at once."""
        client = request.client.host if request.client else ""
        if self._trying[client] >= _AT_ONCE:
            return None
        self._trying[client] += 1
        try:
            right = self._access.knows((await read_form(request)).get("password", ""))
            if not right:
                await asyncio.sleep(_WRONG_S)
            return right
        except TooMuch:
            return False
        finally:
            self._trying[client] -= 1
            self._trying += Counter()  # without the addresses that try nothing now

    def _closed(self) -> str:
        if self._access.needs_password:
            return frame.notice("Closed", "Sign in first.", more='<p><a href="/">Sign in</a></p>')
        return frame.notice(
            "Closed",
            "Open the address that spool web printed, with its token.",
            "If it was started again since, its address is a new one.",
        )


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a posted form; raise TooMuch if it is too large or too slow."""
    try:
        async with asyncio.timeout(_FORM_S):
            data = bytearray()
            async for chunk in request.stream():
                data += chunk
                if len(data) > _LARGEST_FORM:
                    raise TooMuch
    except TimeoutError:
        raise TooMuch from None
    try:
        return dict(parse_qsl(data.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=16))
    except ValueError:
        raise TooMuch from None
