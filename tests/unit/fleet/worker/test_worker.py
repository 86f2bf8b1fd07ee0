"""A worker that loses its lease."""

import asyncio

import pytest

from spool.fleet.queue.payloads import TurnReport
from spool.fleet.worker.worker import _ended


async def test_an_attempt_ends_its_child_before_its_clone_is_removed_however_often_the_queue_cancels() -> None:
    done: list[str] = []
    stops = asyncio.Event()

    async def end_of_child() -> None:
        await stops.wait()
        done.append("the child has ended")

    async def attempt() -> TurnReport:
        try:
            await asyncio.Event().wait()
        finally:
            try:
                await asyncio.shield(end_of_child())
            finally:
                done.append("the clone is removed")
        raise AssertionError

    body = asyncio.create_task(attempt())
    await asyncio.sleep(0)
    waiting = asyncio.create_task(_ended(body))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    stops.set()
    await waiting
    assert done == ["the child has ended", "the clone is removed"]
    with pytest.raises(asyncio.CancelledError):
        body.result()
