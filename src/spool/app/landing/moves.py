"""Moves the target of a landing: a kill at any step leaves it untouched, or moved, once the next one has settled it."""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from spool.app.loops.discarded_attempts import finish_due
from spool.app.starting.signals import listening
from spool.domain.account.landing_order import Fate, Landing, Move
from spool.engine.ports import Clock
from spool.engine.stop_request import Stop
from spool.errors import SpoolError
from spool.host.git.landing.target_branch import Target
from spool.host.git.landing.target_errors import Unsettled
from spool.host.git.repository import Repository, find_repository
from spool.host.state.landings import Landings
from spool.host.state.lock import TreeWork, held_for

_Result = TypeVar("_Result")


@dataclass
class Moves:
    """Makes the moves of one repository, as the holder of its lock of landing."""

    _repository: Repository
    _records: Landings
    _lock: int
    _clock: Clock
    timeout_s: float

    def make(self, move: Move) -> Landing:
        """Move the target, and write down that the change landed; a signal waits until both are done."""
        move = msgspec.structs.replace(move, displaced=asyncio.run(self._target(move).displaced(move)))
        self._records.begin(move)
        try:
            with self._tree_lock(move):
                asyncio.run(self._finish_due(move))
                asyncio.run(_deaf(self._target(move).move(move)))
        except Unsettled:
            raise  # the next landing settles it
        except (SpoolError, OSError):
            self._records.end()
            raise
        return self._ended(move)

    def settle(self) -> Landing | None:
        """Finish or undo the move of a landing that was killed; return the landing if the target has moved."""
        move = self._records.begun()
        if move is None:
            return None
        target = self._target(move)
        with self._tree_lock(move):
            moved = asyncio.run(_deaf(target.settle(move)))
        asyncio.run(_deaf(target.forget(move.change)))
        if moved:
            return self._ended(move)
        self._records.end()
        return None

    async def _finish_due(self, move: Move) -> None:
        """Finish a restore that was cut short in the target's tree: its files would look like a person's edits."""
        found = await find_repository(Path(move.top), timeout_s=self.timeout_s) if move.top else None
        if isinstance(found, Repository):
            await finish_due(found, timeout_s=self.timeout_s)

    def _ended(self, move: Move) -> Landing:
        landing = Landing(
            change=move.change,
            branch=move.branch,
            tip=move.tip,
            onto=move.onto,
            fate=Fate.LANDED,
            base=move.old,
            commit=move.new,
            at=self._clock.now(),
        )
        self._records.record(landing)
        self._records.end()
        return landing

    def _target(self, move: Move) -> Target:
        return Target(self._repository, move.onto, self._lock, timeout_s=self.timeout_s)

    def _tree_lock(self, move: Move) -> AbstractContextManager[None]:
        """Hold the lock of the target's working tree, so that no loop runs in it while it moves."""
        tree = Path(move.top) if move.top else None
        return held_for(TreeWork.LAND, self._repository.spool_dir / "locks", tree, change=move.change)


async def _deaf(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Do something to its end, whatever signal asks to stop."""
    with listening(Stop(), None, stdin=False, asked_by=lambda: ""):
        return await work
