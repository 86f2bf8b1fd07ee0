"""Blocking file work beside the event loop, which a cancellation really ends."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_First = TypeVar("_First")
_Second = TypeVar("_Second")

Pulse = Callable[[], None]
"""Called between two files by work in a thread; raises when the work is no longer wanted."""


class NoLongerWanted(Exception):
    """The task that waits for this work was cancelled."""


async def in_thread(work: Callable[[Pulse], _Result]) -> _Result:
    """Run blocking work in a thread. A plain `to_thread` would go on deleting files after its task was cancelled."""
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
    """Do two things at once; if one fails, the other is ended before the error goes on."""
    tasks = (asyncio.ensure_future(first), asyncio.ensure_future(second))
    try:
        return await tasks[0], await tasks[1]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
