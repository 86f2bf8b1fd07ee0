"""Writes the loop's state, history and journal, in an order that survives a crash."""

from typing import Any, Literal

import msgspec

from spool.domain.change.tasks import Boxes
from spool.domain.judging.gates.gate import Proof
from spool.domain.loop.events import Complete, Error, IterationEnded, Retrying, RunEnded, WaitEnded, Warned
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.plan_memory import PlanMemory
from spool.domain.loop.state import IterationRecord, LoopState, ended_early
from spool.domain.loop.summary import Phase
from spool.domain.loop.verdict import ExitCode, Finish, Retry, Status
from spool.engine.ports import Ports
from spool.errors import SpoolError


class StateWriter:
    """Writes what a run does, and keeps the state that was written last."""

    def __init__(self, ports: Ports, state: LoopState, *, closing: int = 0) -> None:
        self._ports = ports
        self._closing = closing
        """The iteration whose end is being written, or was when an earlier run died."""
        self.state = state

    def save(self, **changed: Any) -> None:
        """Replace the state, durably."""
        self._change(**changed)
        self._ports.store.save(self.state)

    def _change(self, **changed: Any) -> None:
        now = self._ports.clock.now()
        if changed.get("phase", self.state.phase) is not self.state.phase:
            changed.setdefault("waiting_until", None)
            changed.setdefault("checking", "")
            changed["phase_since"] = now
        self.state = msgspec.structs.replace(self.state, updated_at=now, **changed)

    def remember(self, memory: PlanMemory) -> None:
        """Save a plan's memory, if it has changed."""
        if memory != self.state.memory:
            self.save(memory=memory)

    def end_iteration(self, record: IterationRecord, memory: PlanMemory, *, saved_soon: bool = False) -> None:
        """Save an end. The iteration stays in flight until history and journal have it, or a crash would lose it."""
        self._closing = record.iteration
        self._ports.store.append(record)
        self._ports.emit(IterationEnded(record=record))
        self.count_iteration(record, memory, saved_soon=saved_soon)

    def count_iteration(self, record: IterationRecord, memory: PlanMemory, *, saved_soon: bool = False) -> None:
        """Save what an iteration has taken, after history and journal have it; or leave that to the save that follows.

        Until then a run that is killed finds the iteration in flight and in the history, and judges it again.
        """
        try:
            self._ports.expenses.add(record)
        except SpoolError as error:
            self.warn(error)
        receipt = self.state.receipt.with_iteration(record)
        usage = self.state.usage + record.usage
        self._change(phase=Phase.PREPARING, in_flight=None, memory=memory, usage=usage, receipt=receipt)
        if not saved_soon:
            self._ports.store.save(self.state)

    def count_wait(self, seconds: float) -> None:
        """Add a wait to the receipt."""
        self.state = msgspec.structs.replace(self.state, receipt=self.state.receipt.with_wait(seconds))
        self._ports.emit(WaitEnded(seconds=seconds))

    def end_run(
        self, finish: Finish, *, iterations: int, kept: str = "", evidence: str = "", boxes: Boxes | None = None
    ) -> None:
        """Save how the run ended; `kept` is the story whose unfinished work is in the tree."""
        now = self._ports.clock.now()
        story_id = self.state.story.id if self.state.story else ""
        reason = finish.said(story_id)
        self.save(
            status=finish.status,
            reason=reason,
            bound=finish.bound,
            exit_code=int(finish.exit_code),
            limit=finish.limit,
            phase=Phase.ENDED,
            waiting_until=finish.retry_at,
            ended_at=now,
        )
        if finish.status is Status.DONE:
            proof = self.state.memory.proof or Proof.WORD
            usage = self.state.usage
            self._ports.emit(Complete(iterations=iterations, usage=usage, proof=proof, evidence=evidence, boxes=boxes))
        elif finish.status is Status.STUCK or finish.exit_code is ExitCode.FAILED:
            self._ports.emit(Error(reason=reason, story_id=story_id or None, kept=kept))
        self._ports.emit(
            RunEnded(
                status=finish.status,
                reason=reason,
                bound=finish.bound,
                exit_code=int(finish.exit_code),
                limit=finish.limit,
                receipt=self.state.receipt,
                ended_at=now,
                retry_at=finish.retry_at,
                begun=self.state.memory.begun,
            )
        )

    def abandon(self, why: str, status: Status, *, iterations: int, code: ExitCode = ExitCode.FAILED) -> None:
        """End the run after an error of ours, and record the iteration in flight as interrupted.

        If writing an end failed, how much of it is on disk is unknown; the next run checks. After an error of the
        machine an agent that was over stays in flight, and the next run judges its work; after a bug it does not, or
        each later run would meet the bug again.
        """
        begun = self.state.in_flight
        is_bug = status is Status.STUCK
        if begun is not None and begun.iteration != self._closing and (is_bug or begun.ended is None):
            ended_at = max(self._ports.clock.now(), begun.started_at)
            record = begun.ended or ended_early(begun, ended_at=ended_at)
            record = msgspec.structs.replace(record, outcome=OutcomeKind.INTERRUPTED, reason=why)
            self.end_iteration(record, self.state.memory)
        self.end_run(Finish(status, why, code), iterations=iterations)

    def warn(self, error: SpoolError, about: Literal["", "commit"] = "") -> None:
        """Emit an error that does not end the run."""
        self._ports.emit(Warned(message=str(error), hint=error.hint, about=about))

    def report_retry(self, retry: Retry) -> None:
        """Emit that a story is retried, or a command before one is chosen."""
        story = self.state.story.id if self.state.story else ""
        attempt = retry.retry + 1
        self._ports.emit(
            Retrying(story_id=story, attempt=attempt, max_retries=retry.max_retries, because=retry.because)
        )
