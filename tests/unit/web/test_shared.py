"""Results that several callers share."""

import asyncio

import pytest

from spool.web.shared import Shared


async def test_callers_at_the_same_time_share_one_result_and_later_ones_get_a_new_one() -> None:
    now, made = 0.0, 0
    shared: Shared[int] = Shared(1.0, now=lambda: now)

    async def make() -> int:
        nonlocal made
        made += 1
        await asyncio.sleep(0)
        return made

    assert await asyncio.gather(*(shared.get("a", make) for _ in range(5))) == [1] * 5
    assert await shared.get("b", make) == 2
    now = 0.9
    assert await shared.get("a", make) == 1
    now = 2.1
    assert await shared.get("a", make) == 3


async def test_a_failure_is_not_kept_and_who_leaves_takes_nothing_away() -> None:
    shared: Shared[int] = Shared(1.0)
    go = asyncio.Event()

    async def fail() -> int:
        raise ValueError("no")

    async def wait() -> int:
        await go.wait()
        return 7

    with pytest.raises(ValueError, match="no"):
        await shared.get("a", fail)
    leaving = asyncio.ensure_future(shared.get("a", wait))
    staying = asyncio.ensure_future(shared.get("a", wait))
    await asyncio.sleep(0)
    leaving.cancel()
    go.set()
    assert await staying == 7
