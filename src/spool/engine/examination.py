"""Examines an iteration once its agent is over: gates, and what the agent left."""

from collections.abc import Callable
from typing import Any

import msgspec

from spool.domain.judging.gates.gate import refusal
from spool.domain.loop.events import Warned
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.plan_memory import merged
from spool.domain.loop.state import IterationRecord
from spool.domain.loop.summary import Phase
from spool.domain.loop.verdict import UNSEEN
from spool.engine.gates.gatekeeper import Gatekeeper, Verified
from spool.engine.gates.own_gates import run_gates
from spool.engine.plans.strategy import Findings, Strategy, after_hung_command
from spool.engine.ports import Ports
from spool.engine.state_writer import StateWriter
from spool.engine.stop_request import Stop
from spool.errors import CommandError, SpoolError

_NOT_CLAIMED = Verified(claimed=False)
Note = Callable[[], None]


class Examiner:
    """Runs the gates of a loop, before its first agent and after each."""

    def __init__(
        self, plan: Strategy[Any], keeper: Gatekeeper | None, account: StateWriter, ports: Ports, stop: Stop
    ) -> None:
        self._plan = plan
        self._keeper = keeper
        self._account = account
        self._ports = ports
        self._stop = stop
        self.ran_gates = False
        """Whether configured gates have run since this was last unset; they leave files that are not the agent's."""

    async def open(self) -> bool:
        """Run the configured gates once before the first agent of this run; return whether no stop came first."""
        if self._keeper is None:
            return True
        memory = self._account.state.memory
        base = await self._stop.obeyed(self._keeper.open(memory.base, memory.left, self._checking))
        if base is None:
            return False
        leavings = merged(memory.leavings, self._keeper.left)
        self._account.remember(msgspec.structs.replace(memory, base=base, left="", leavings=leavings))
        return True

    async def examined(self, record: IterationRecord, note: Note = lambda: None) -> IterationRecord | None:
        """Return the record with the results of the gates and of the plan; None if a stop came before them.

        The iteration then stays in flight, and the next run examines it: `note` saves what the agent did, before any
        gate runs. Where none does, the record itself is written next.
        """
        passed = await self._pass_gates(record, note)
        if passed is None:
            note()
            return None
        record, verified = passed
        findings = Findings()
        try:
            findings = await self._stop.obeyed(self._plan.inspect(record.changes)) or findings
        except (SpoolError, OSError) as error:
            self._ports.emit(Warned(message=str(error)))
            if isinstance(error, SpoolError):
                record = after_hung_command(record, error)
        return msgspec.structs.replace(
            record,
            gates=verified.gates,
            proof=verified.proof,
            gates_s=round(verified.seconds, 3),
            checked_tree=verified.tree,
            leavings=verified.left,
            commits=findings.commits,
            progress=findings.progress,
            boxes=self._plan.boxes,
        )

    async def _pass_gates(self, record: IterationRecord, note: Note) -> tuple[IterationRecord, Verified] | None:
        """Run the gates; one that cannot run turns the outcome into an error. Return None if a stop came first."""
        try:
            verified = await self._stop.obeyed(self._verified(record, note))
        except CommandError as error:
            return msgspec.structs.replace(record, outcome=OutcomeKind.TIMEOUT, reason=error.advice), _NOT_CLAIMED
        except (SpoolError, OSError) as error:  # the agent made its own tasks unreadable
            return msgspec.structs.replace(record, outcome=OutcomeKind.HARNESS_ERROR, reason=str(error)), _NOT_CLAIMED
        if verified is None:
            return (record, _NOT_CLAIMED) if record.outcome in UNSEEN else None
        return record, verified

    async def _verified(self, record: IterationRecord, note: Note) -> Verified:
        """Run the plan's own gates after every iteration, and the configured ones once completion is claimed."""
        memory = self._account.state.memory
        due = self._plan.gates(memory, record)
        if due:
            note()
        gates = await run_gates(due)
        claim = self._plan.claim(memory, msgspec.structs.replace(record, gates=gates))
        if claim is None or self._keeper is None or refusal(gates):
            return Verified(gates=gates, claimed=claim is not None)
        if not due:
            note()
        verified = await self._keeper.check(claim, self._checking)
        self.ran_gates = True
        names = {gate.name for gate in verified.gates}
        own = (gate for gate in gates if gate.name not in names)
        return msgspec.structs.replace(verified, gates=(*own, *verified.gates))

    def _checking(self, gate: str) -> None:
        self._account.save(phase=Phase.CHECKING, phase_since=self._ports.clock.now(), checking=gate)
