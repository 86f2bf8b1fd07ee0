"""Turns signals and lines on standard input into stop requests."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

import msgspec

from spool.decoders import decoded
from spool.engine.stop_request import Stop
from spool.host.agents.agent_host import AgentHost

_HUNG_UP = "a closed terminal"


class _StopLine(msgspec.Struct):
    type: str


@contextmanager
def listening(stop: Stop, host: AgentHost | None, *, stdin: bool, asked_by: Callable[[], str]) -> Iterator[None]:
    """Turn signals, and `{"type":"stop"}` on standard input if `stdin` is set, into stop requests.

    `asked_by` returns who sent a SIGTERM, if that is known.
    """
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno() if stdin and not sys.stdin.isatty() else None
    asked: dict[signal.Signals, Callable[[], None]] = {
        signal.SIGINT: partial(stop.request, "Ctrl-C"),
        signal.SIGHUP: partial(_hang_up, stop),
        signal.SIGTERM: lambda: stop.request(asked_by() or "SIGTERM"),
    }
    if host is not None:
        asked[signal.SIGTSTP] = partial(_pause, host)
    with ExitStack() as stack:
        stack.callback(_outlive_hang_up, stop)
        for signum, handler in asked.items():
            loop.add_signal_handler(signum, handler)
            stack.callback(loop.remove_signal_handler, signum)
        with suppress(OSError):  # a file or /dev/null cannot be polled
            if descriptor is not None:
                loop.add_reader(descriptor, _reader(descriptor, stop))
                stack.callback(loop.remove_reader, descriptor)
        yield


def _hang_up(stop: Stop) -> None:
    """Request a stop once: the kernel and the terminal's program may both report that the terminal was closed."""
    if stop.by != _HUNG_UP:
        stop.request(_HUNG_UP)


def _outlive_hang_up(stop: Stop) -> None:
    """Ignore the second report of a closed terminal if it comes late: the end is yet to be logged."""
    if stop.by == _HUNG_UP:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


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
                if decoded(line, _StopLine).type == "stop":
                    stop.request("a request on standard input")

    return hear
