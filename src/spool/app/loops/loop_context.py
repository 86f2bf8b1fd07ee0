"""Reads the facts about a loop that its journal lacks: its branch, its gates, the day's spending, other loops."""

from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from spool.app.loops.loop_list import as_it_stands, running
from spool.app.loops.reach import loop_branch
from spool.domain.agent.stream import Usage
from spool.domain.loop.summary import LoopSummary
from spool.errors import SpoolError
from spool.host.state.specs import kept_spec
from spool.host.state.spending_log import SpendingFile


class LoopContext(msgspec.Struct, frozen=True, kw_only=True):
    """A loop's surroundings."""

    branch: str = ""
    gates: tuple[str, ...] = ()
    """The names of its gates."""
    today: Usage = Usage()
    """The usage of all loops today, if the loop has a budget per day."""
    loops: tuple[LoopSummary, ...] = ()
    """The loops of the same project that run or have just ended, in the order of their changes."""


class ContextReader:
    """Reads loops' surroundings, and remembers the loops seen, to show how they ended."""

    def __init__(self) -> None:
        self._met: dict[str, LoopSummary] = {}
        self._spending = SpendingFile(project="", change="", now=lambda: datetime.now(UTC))

    def around(self, loop: LoopSummary, *, per_day: bool) -> LoopContext:
        """Return a loop's surroundings; `per_day` also reads the usage of all loops today."""
        gates, today = tuple[str, ...](), Usage()
        with suppress(SpoolError, OSError):
            spec = kept_spec(loop.folder)
            gates = tuple(gate.name for gate in spec.gates) if spec else ()
        with suppress(SpoolError):
            today = self._spending.today() if per_day else today
        return LoopContext(branch=loop_branch(loop), gates=gates, today=today, loops=self._beside(loop))

    def _beside(self, loop: LoopSummary) -> tuple[LoopSummary, ...]:
        """Return the loops of a loop's project that run, or have ended since they were met."""
        now = {one.run_id: one for one in running() if loop.project and one.project == loop.project}
        ended = {run: as_it_stands(one) for run, one in self._met.items() if run not in now and one.running}
        self._met |= now | ended
        here = [one for one in self._met.values() if one.project == loop.project]
        return tuple(sorted(here, key=lambda one: (one.change, one.started_at)))
