"""Turns signals and lines on standard input into stop requests."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

import msgspec

from spool.engine.stop import Stop
from spool.host.agents.agent_host import AgentHost

_SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGHUP: "a closed terminal"}


class _Request(msgspec.Struct):
    type: str


@contextmanager
def listening(stop: Stop, host: AgentHost, *, stdin: bool, asked_by: Callable[[], str]) -> Iterator[None]:
    """Turn signals, and `{"type":"stop"}` on standard input if `stdin` is set, into stop requests.

    `asked_by` returns who sent a SIGTERM, if that is known.
    """
    with ExitStack() as stack:
        for signum, name in _SIGNALS.items():
            stack.enter_context(_handling(signum, partial(stop.request, name)))
        stack.enter_context(_handling(signal.SIGTERM, lambda: stop.request(asked_by() or "SIGTERM")))
        stack.enter_context(_handling(signal.SIGTSTP, lambda: _pause(host)))
        if stdin and not sys.stdin.isatty():
            stack.enter_context(_reading_stdin(stop))
        yield


def _pause(host: AgentHost) -> None:
    """Handle Ctrl-Z: pause the agent and this process, then resume both."""
    host.pause(on=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    host.pause(on=False)


@contextmanager
def _handling(signum: signal.Signals, handler: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signum, handler)
    try:
        yield
    finally:
        loop.remove_signal_handler(signum)


@contextmanager
def _reading_stdin(stop: Stop) -> Iterator[None]:
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
    inbox = b""

    def hear() -> None:
        nonlocal inbox
        data = os.read(descriptor, 1 << 16)
        if not data:
            loop.remove_reader(descriptor)
        *lines, inbox = (inbox + data).split(b"\n")
        for line in lines:
            with suppress(msgspec.MsgspecError):
                if msgspec.json.decode(line, type=_Request).type == "stop":
                    stop.request("a request on standard input")

    try:
        loop.add_reader(descriptor, hear)
    except (PermissionError, OSError):  # a file or /dev/null cannot be polled
        yield
        return
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
