"""Runs blocking file work in threads that stop on cancellation."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_First = TypeVar("_First")
_Second = TypeVar("_Second")

Pulse = Callable[[], None]
"""Called by threaded work between two files; raises once the work is cancelled."""


class NoLongerWanted(Exception):
    """The task that awaits this work was cancelled."""


async def in_thread(work: Callable[[Pulse], _Result]) -> _Result:
    """Run blocking work in a thread. A plain `to_thread` would keep deleting files after cancellation."""
    cancelled = threading.Event()

    def pulse() -> None:
        if cancelled.is_set():
            raise NoLongerWanted

    task = asyncio.ensure_future(asyncio.to_thread(work, pulse))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        cancelled.set()
        with suppress(NoLongerWanted, OSError):
            await task
        raise


async def together(first: Coroutine[Any, Any, _First], second: Coroutine[Any, Any, _Second]) -> tuple[_First, _Second]:
    """Await two coroutines concurrently; if one fails, cancel the other before raising."""
    tasks = (asyncio.ensure_future(first), asyncio.ensure_future(second))
    try:
        return await tasks[0], await tasks[1]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
