"""Signals become stop requests."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from spool.app.starting.signals import listening
from spool.engine.stop_request import Stop


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    kept = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)}
    yield
    for signum, handler in kept.items():
        signal.signal(signum, handler)


async def heard(*signals: signal.Signals) -> Stop:
    stop = Stop()
    with listening(stop, None, stdin=False, asked_by=lambda: ""):
        for signum in signals:
            os.kill(os.getpid(), signum)
        await stop.wait()
        await asyncio.sleep(0)  # handlers run in one turn of the loop
    return stop


async def test_a_closed_terminal_is_reported_twice_and_forces_nothing() -> None:
    stop = await heard(signal.SIGHUP, signal.SIGHUP)
    assert (stop.by, stop.forced) == ("a closed terminal", False)


async def test_a_late_report_of_a_closed_terminal_does_not_end_the_process() -> None:
    await heard(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    os.kill(os.getpid(), signal.SIGHUP)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
async def test_other_signals_are_as_before_afterwards(signum: signal.Signals) -> None:
    await heard(signum)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


async def test_a_second_ctrl_c_forces_a_stop() -> None:
    stop = Stop()
    with listening(stop, None, stdin=False, asked_by=lambda: ""):
        os.kill(os.getpid(), signal.SIGINT)
        await stop.wait()
        os.kill(os.getpid(), signal.SIGINT)
        while not stop.forced:
            await asyncio.sleep(0)
    assert stop.by == "Ctrl-C"
