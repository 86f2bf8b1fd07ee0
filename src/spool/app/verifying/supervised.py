"""Runs commands under a supervisor without a loop, until they end or a person stops them."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from spool.app.observing.observers import Watcher
from spool.app.starting.signals import listening
from spool.engine.stop_request import Stop
from spool.host.agents.agent_host import AgentHost
from spool.host.agents.supervisor import Supervision

if TYPE_CHECKING:
    from spool.host.sandbox.sandbox import Sandbox

_Result = TypeVar("_Result")
_TICK_S = 0.5


async def supervised(
    supervision: Supervision,
    watcher: Watcher,
    work: Callable[[AgentHost], Coroutine[Any, Any, _Result]],
    *,
    directory: Path,
    sandbox: "Sandbox | None" = None,
) -> _Result | None:
    """Do something with a host for commands; return None if a person stopped it."""
    host = AgentHost(supervision, directory=directory, logs=directory, environment={}, sandbox=sandbox)
    stop = Stop()
    ticking = asyncio.create_task(_tick(watcher))
    try:
        with listening(stop, host, stdin=False, asked_by=lambda: ""):
            found = await stop.obeyed(work(host))
        return None if stop.requested else found
    finally:
        ticking.cancel()
        host.close()


async def _tick(watcher: Watcher) -> None:
    while True:
        watcher.tick()
        await asyncio.sleep(_TICK_S)
