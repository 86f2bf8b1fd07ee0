"""Runs the server until a signal ends it."""

import asyncio
import contextlib
import errno
import logging
import signal
import socket
from collections.abc import Iterator

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from spool.errors import Hint, SpoolError
from spool.web.access import Access
from spool.web.site import build_site

_HEARD_S = 5.0
"""The most time for the head of a client's request."""
_STALLED_S = 30
"""The most time for a client to read what was sent."""
_CLOSE_S = 1
_CONNECTIONS = 128


class Impatient(H11Protocol):
    """Closes a connection that sends no request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, and close it if no request has come after five seconds."""
        super().connection_made(transport)
        self.loop.call_later(_HEARD_S, self._close_unheard)

    def _close_unheard(self) -> None:
        if self.cycle is None:
            self.transport.abort()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the command: uvicorn would raise them again at its end."""
        yield


def listen(address: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 takes any that is free."""
    try:
        made = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    except OSError as error:
        hint = Hint.FREE_PORT if error.errno == errno.EADDRINUSE else ""
        raise SpoolError(f"cannot listen on {address}, port {port}: {error.strerror}", hint=hint) from None
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; connections inherit it
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STALLED_S * 1_000)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return made


def serve(listening: socket.socket, access: Access, *, control: bool) -> None:
    """Answer requests until SIGINT, SIGTERM or SIGHUP."""
    for name in ("uvicorn", "asyncio"):  # what clients and agents send would reach the terminal through them
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    asyncio.run(_serve(listening, access, control=control))


async def _serve(listening: socket.socket, access: Access, *, control: bool) -> None:
    app, site = build_site(access, control=control)
    config = uvicorn.Config(
        app,
        http=Impatient,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_CLOSE_S,
    )
    server = _Server(config)

    def end() -> None:
        server.should_exit = True
        site.over.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, end)
    await server.serve(sockets=[listening])
