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
def listening(stop: Stop, host: AgentHost | None, *, stdin: bool, asked_by: Callable[[], str]) -> Iterator[None]:
    """Turn signals, and `{"type":"stop"}` on standard input if `stdin` is set, into stop requests.

    `asked_by` returns who sent a SIGTERM, if that is known.
    """
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno() if stdin and not sys.stdin.isatty() else None
    asked: dict[signal.Signals, Callable[[], None]] = {
        signum: partial(stop.request, name) for signum, name in _SIGNALS.items()
    }
    asked[signal.SIGTERM] = lambda: stop.request(asked_by() or "SIGTERM")
    if host is not None:
        asked[signal.SIGTSTP] = partial(_pause, host)
    with ExitStack() as stack:
        for signum, handler in asked.items():
            loop.add_signal_handler(signum, handler)
            stack.callback(loop.remove_signal_handler, signum)
        with suppress(OSError):  # a file or /dev/null cannot be polled
            if descriptor is not None:
                loop.add_reader(descriptor, _reader(descriptor, stop))
                stack.callback(loop.remove_reader, descriptor)
        yield


def _pause(host: AgentHost) -> None:
    """Handle Ctrl-Z: pause the agent and this process, then resume both."""
    host.pause(on=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    host.pause(on=False)


def _reader(descriptor: int, stop: Stop) -> Callable[[], None]:
    inbox = b""

    def hear() -> None:
        nonlocal inbox
        data = os.read(descriptor, 1 << 16)
        if not data:
            asyncio.get_running_loop().remove_reader(descriptor)
        *lines, inbox = (inbox + data).split(b"\n")
        for line in lines:
            with suppress(msgspec.MsgspecError):
                if msgspec.json.decode(line, type=_Request).type == "stop":
                    stop.request("a request on standard input")

    return hear
