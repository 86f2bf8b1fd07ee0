"""Ends a run: delivers its commits, lets the plan clean up, and records how the tree was left."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec

from spool.domain.loop.verdict import ExitCode, Finish, Status, undelivered
from spool.engine.gates.gatekeeper import Gatekeeper
from spool.engine.plans.strategy import Strategy
from spool.engine.ports import Ports
from spool.engine.state_writer import StateWriter
from spool.engine.stop_request import Stop
from spool.errors import ChangeError, CommandError, SpoolError

_RECORD_S = 3.0
"""Seconds to record the tree after a stop, within the time that this may take."""


class Closing:
    """Ends one run."""

    def __init__(
        self, plan: Strategy[Any], keeper: Gatekeeper | None, account: StateWriter, ports: Ports, stop: Stop
    ) -> None:
        self._plan = plan
        self._keeper = keeper
        self._account = account
        self._ports = ports
        self._stop = stop

    async def delivered(self, finish: Finish) -> Finish:
        """Move the commits to their branch; after a stop only once the end is written."""
        if finish.status is Status.STOPPED:
            return finish
        try:
            delivered = await self._stop.obeyed(self._delivery())
        except CommandError as error:
            self._account.warn(error)
            delivered = None
        return finish if delivered else undelivered(finish)

    async def _delivery(self) -> bool:
        await self._ports.deliver()
        return True

    async def close(self, finish: Finish, *, iterations: int, resumable: bool) -> None:
        """Let the plan clean up, warning on failure, then end the run."""
        kept = evidence = left = ""
        try:
            if self._keeper is not None:
                left = await self._keeper.close()
            if finish.status is Status.DONE:
                evidence = await self._plan.evidence(self._account.state.memory)
            kept = await self._plan.close(finish, self._account.state.memory)
        except (CommandError, ChangeError) as error:
            self._account.warn(error)
        self._remember(evidence=evidence, left=left)
        self._account.end_run(finish, iterations=iterations, kept=kept, evidence=evidence, boxes=self._plan.boxes)
        if resumable and finish.exit_code is not ExitCode.COMPLETE:
            # After the end is written: a hung git must not delay a stop.
            self._remember(fingerprint=await self._left(finish))
        if finish.status is Status.STOPPED and not self._stop.forced:
            with suppress(TimeoutError, SpoolError, OSError):  # the next run does it
                async with asyncio.timeout(_RECORD_S):
                    await self._ports.deliver()

    async def edited(self) -> bool:
        """Whether the tree may have been edited since the last run ended."""
        left = self._account.state.memory.fingerprint
        return not left or await self._stop.obeyed(self._fingerprint()) != left

    async def _left(self, finish: Finish) -> str:
        """Return the fingerprint of the tree that a run leaves; empty if a stop cannot wait for it.

        Only a stop is in a hurry: on a slow machine, a run would take its own tree for that of a person.
        """
        if finish.status is not Status.STOPPED:
            return await self._stop.obeyed(self._fingerprint()) or ""
        with suppress(TimeoutError):
            async with asyncio.timeout(_RECORD_S):
                return await self._fingerprint()
        return ""

    async def _fingerprint(self) -> str:
        """Return the tree's fingerprint; empty if git does not give it."""
        if self._stop.forced:
            return ""
        with suppress(SpoolError, OSError):
            return await self._ports.worktree.fingerprint()
        return ""

    def _remember(self, **facts: str) -> None:
        self._account.remember(msgspec.structs.replace(self._account.state.memory, **facts))
