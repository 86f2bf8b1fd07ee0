"""A loop's state on disk, and one record per iteration."""

from datetime import datetime
from typing import NamedTuple

import msgspec

from spool.domain.agent.stream import Usage
from spool.domain.change.tasks import Boxes
from spool.domain.judging.gates.gate import VERIFIED, GateResult, Proof, refusal
from spool.domain.judging.promise import Veto
from spool.domain.loop.budget import Exceeded, Limit
from spool.domain.loop.outcome import Outcome, OutcomeKind, Refusal
from spool.domain.loop.plan_memory import PlanMemory, StoryMemory
from spool.domain.loop.summary import SCHEMA, LoopSummary
from spool.domain.loop.verdict import Status
from spool.domain.text.common_fields import carried
from spool.domain.text.moments import Moment


class InFlight(msgspec.Struct, frozen=True, kw_only=True):
    """An iteration that has started. It is saved before the agent starts, so that no crash can lose it."""

    iteration: int
    run_id: str
    started_at: Moment
    harness: str
    model: str | None = None
    story_id: str | None = None
    attempt: int | None = None
    ended: "IterationRecord | None" = None
    """The record of an agent that has ended, while the gates still run."""


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of one iteration in the working tree."""

    count: int
    files: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0
    trees: tuple[str, ...] = ()
    """The ids of the working tree before and after."""


class IterationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One line of history.jsonl."""

    schema: int = SCHEMA
    iteration: int
    run_id: str
    started_at: Moment
    ended_at: Moment
    duration_s: float
    harness: str
    model: str | None
    exit_code: int | None
    outcome: OutcomeKind
    reason: str = ""
    note: str = ""
    retry_after_s: float | None = None
    resets_at: float | None = None
    """When a rate limit ends, if the agent reported it."""
    completion_found: bool = False
    hopeless: bool = False
    """Whether only a person can mend what went wrong."""
    refused: Refusal | None = None
    """The promise in the agent's last message that did not count."""
    vetoes: tuple[Veto, ...] = ()
    exceeded: Exceeded | None = None
    """The budget that was used up while the agent ran."""
    gates: tuple[GateResult, ...] = ()
    """The results of the gates, if completion was claimed."""
    proof: Proof | None = None
    """The strength of the claim's evidence; None without a claim."""
    gates_s: float = 0.0
    """Seconds spent in gates."""
    checked_tree: str = ""
    """The recorded tree that the gates judged."""
    leavings: tuple[str, ...] = ()
    """Untracked files that the gates left in the working tree."""
    changed_files: int | None = None
    """The number of files changed; None without git."""
    files: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0
    usage: Usage = Usage()
    boxes: Boxes | None = None
    """The boxes of the change when the agent was over; None if they are unknown."""
    commit: str | None = None
    """Spool's commit of this iteration's work."""
    commits: tuple[str, ...] = ()
    """The commits added to HEAD during this iteration, oldest first."""
    progress: bool | None = None
    """Whether the iteration made progress; None if not measured."""
    trees: tuple[str, ...] = ()
    """The ids of the working tree before and after the iteration; none without git."""
    story_id: str | None = None
    attempt: int | None = None
    session: str = ""
    """The agent's id of the conversation."""
    log: str = ""

    @property
    def changes(self) -> Changes | None:
        """The changes of this iteration; None without git."""
        if self.changed_files is None:
            return None
        return Changes(
            count=self.changed_files,
            files=self.files,
            insertions=self.insertions,
            deletions=self.deletions,
            trees=self.trees,
        )

    @property
    def rejected(self) -> GateResult | None:
        """The gate that refused the agent's claim of completion, if one did."""
        return refusal(self.gates) if self.outcome is OutcomeKind.COMPLETED else None

    @property
    def accepted(self) -> bool:
        """Whether this iteration finished its story: completion was claimed, and no gate refused it."""
        claimed = self.story_id is not None and self.outcome is OutcomeKind.COMPLETED
        return claimed and bool(self.gates) and self.rejected is None

    def as_outcome(self) -> Outcome:
        """Return the recorded outcome."""
        return Outcome(kind=self.outcome, **carried(self, Outcome))


class LoopState(LoopSummary, frozen=True, kw_only=True):
    """The contents of state.json: the loop's summary, and fields for its runner only."""

    completion_promise: str = "COMPLETE"
    journal_offset: int = 0
    """The offset of this run in the journal."""
    in_flight: InFlight | None = None


class UnfinishedIteration(NamedTuple):
    """The iteration in which a runner died."""

    record: IterationRecord
    recorded: bool
    """Whether the history has it; if not, its gates have not run."""


def unfinished(
    state: LoopState,
    last: IterationRecord | None,
    *,
    now: datetime,
    used: Usage = Usage(),  # noqa: B008 - a frozen value
) -> UnfinishedIteration | None:
    """Return the iteration in flight, if any: as it was recorded, or ended, else as interrupted.

    `used` is what its agent had reported.
    """
    begun = state.in_flight
    if begun is None:
        return None
    if last is not None and last.iteration == begun.iteration:
        return UnfinishedIteration(last, recorded=True)
    if begun.ended is not None:
        return UnfinishedIteration(begun.ended, recorded=False)
    record = ended_early(begun, ended_at=max(now, begun.started_at))
    return UnfinishedIteration(msgspec.structs.replace(record, usage=used), recorded=False)


def continued(state: LoopState, earlier: LoopState | None, *, last_iteration: int = 0) -> LoopState:
    """Return a new run's state, continued from an earlier run.

    A run that was killed, stopped or out of budget continues with its attempt; after any other end, limits start over.
    An iteration that was in flight stays so until the new run has judged it.
    """
    if earlier is None:
        return msgspec.structs.replace(state, iteration=last_iteration)
    kept = (
        earlier.status in (Status.RUNNING, Status.STOPPED)
        or earlier.limit not in (None, Limit.STALL)
        or earlier.in_flight is not None
    )
    return msgspec.structs.replace(
        state,
        iteration=max(earlier.iteration, last_iteration),
        memory=earlier.memory if kept else _starting(earlier),
        usage=earlier.usage,
        receipt=earlier.receipt,
        earlier_s=earlier.elapsed_s(earlier.updated_at),
        in_flight=earlier.in_flight,
    )


def _starting(earlier: LoopState) -> PlanMemory:
    """Return the memory with which limits start over.

    Gates still measure from where the loop began, and what they refused is still refused. The stories that they
    accepted stay accepted: a run that finds nothing left to do takes that from none of them.
    """
    memory, fresh = earlier.memory, type(earlier.memory)()
    if earlier.status is not Status.DONE:
        unaccepted = {"unaccepted": memory.unaccepted} if isinstance(memory, StoryMemory) else {}
        return msgspec.structs.replace(
            fresh,
            base=memory.base,
            left=memory.left,
            leavings=memory.leavings,
            refusal=memory.refusal,
            fingerprint=memory.fingerprint,
            **unaccepted,
        )
    # Every loop of one prompt ends with a claim of its own; stories may all be complete before the first agent.
    if isinstance(memory, StoryMemory) and memory.proof in VERIFIED:
        fresh = msgspec.structs.replace(fresh, proof=memory.proof, evidence=memory.evidence)
    return msgspec.structs.replace(fresh, fingerprint=memory.fingerprint)


def ended_early(
    begun: InFlight,
    kind: OutcomeKind = OutcomeKind.INTERRUPTED,
    *,
    ended_at: datetime,
    reason: str = "the runner died",
) -> IterationRecord:
    """Return the record of an iteration that Spool or its runner cut short: never a success, never lost."""
    return IterationRecord(
        ended_at=ended_at,
        duration_s=max(0.0, (ended_at - begun.started_at).total_seconds()),
        exit_code=None,
        outcome=kind,
        reason=reason,
        **carried(begun, IterationRecord),
    )
