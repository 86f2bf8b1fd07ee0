"""The history of each story: its attempts, its verdict, and its discarded work."""

from datetime import datetime
from enum import Enum, StrEnum, auto

import msgspec

from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.findings import evidence
from spool.domain.judging.gates.gate import GatePurpose, Proof
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.receipt import StoryReceipt
from spool.domain.loop.state import IterationRecord

WHOLE = ""
"""The id of the only story of a loop without stories."""
REFUSED = "refused"
"""The outcome of an iteration whose claim of completion a gate refused."""
_FILES = 2_000


_NO_TROUBLE = ("", OutcomeKind.COMPLETED, OutcomeKind.NO_PROMISE, OutcomeKind.RATE_LIMITED)


def is_trouble(outcome: str) -> bool:
    """Whether an attempt's outcome is bad news: an error, a refusal, the agent's FAILED."""
    return outcome not in _NO_TROUBLE


def outcome_of(record: IterationRecord) -> str:
    """Return how an iteration ended; a claim of completion that a gate refused is refused, not completed."""
    return REFUSED if record.rejected else str(record.outcome)


class StoryMark(Enum):
    """The state of a story."""

    WAITING = auto()
    RUNNING = auto()
    DONE = auto()
    FAILED = auto()


class StoryStanding(StrEnum):
    """The verdict on a story, in one word; what is done says what that rests on."""

    PROVED = "proved"
    UNBROKEN = "unbroken"
    WORD = "agent's word"
    EARLIER = "done before"
    RUNNING = "running"
    REFUSED = "refused"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    OPEN = "not started"


class GateView(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a gate."""

    purpose: GatePurpose = GatePurpose.CLAIM
    """Why it runs, or ran last."""
    green: bool | None = None
    """The result for the last claim, or for the tree before the first agent; None if it has not run since."""
    weighed: bool = False
    """Whether `green` is a judgement: a gate that was red before the change may be red and refuse nothing."""
    since: datetime | None = None
    """The start of a current run."""
    expected_s: float = 0.0
    """The duration of its last run."""


class DiscardedWork(msgspec.Struct, frozen=True, kw_only=True):
    """Work that a revert took out of the tree, and the name under which it can be restored."""

    at: datetime | None
    iteration: int | None
    name: str


class IterationFigures(msgspec.Struct):
    """One iteration of a story."""

    iteration: int
    number: int
    story_id: str = WHOLE
    run_id: str = ""
    began_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: str = ""
    """Empty while it runs."""
    reason: str = ""
    note: str = ""
    seconds: float = 0.0
    """Seconds of the agent."""
    gates_s: float = 0.0
    usage: Usage = Usage()
    changed_files: int | None = None
    insertions: int = 0
    deletions: int = 0
    proof: Proof | None = None
    commits: tuple[str, ...] = ()
    vetoes: int = 0
    """Promises that did not count."""
    discarded: str = ""
    """The name of its work, if a revert discarded it."""

    def lasts_s(self, now: datetime) -> float:
        """Return its duration so far, in seconds."""
        return max(0.0, (now - self.began_at).total_seconds()) if self.began_at else 0.0

    def end(self, record: IterationRecord) -> None:
        """Copy its record's figures."""
        rejected = record.rejected
        self.run_id, self.story_id = record.run_id, record.story_id or WHOLE
        self.began_at = self.began_at or record.started_at
        self.ended_at = record.ended_at
        self.outcome = outcome_of(record)
        self.reason, self.note = rejected.why if rejected else record.reason, record.note
        self.seconds, self.gates_s, self.usage = record.duration_s, record.gates_s, record.usage
        self.changed_files = record.changed_files
        self.insertions, self.deletions = record.insertions, record.deletions
        self.proof, self.vetoes = record.proof, len(record.vetoes)
        self.commits = tuple(dict.fromkeys((*record.commits, *([record.commit] if record.commit else []))))


class StoryView(msgspec.Struct):
    """One story and its figures."""

    id: str
    title: str
    mark: StoryMark = StoryMark.WAITING
    attempts: list[IterationFigures] = []
    spent: StoryReceipt = StoryReceipt(id=WHOLE)
    """The use by its iterations, without a running one."""
    files: set[str] = set()
    """The files that its attempts changed, without those that were reverted."""
    at_checkpoint: frozenset[str] = frozenset()
    """The changed files that its checkpoint has, and a revert keeps."""
    seen: int = 0
    """The number of its events."""
    since: str = ""
    """The tree of its checkpoint."""
    until: str = ""
    """The tree of the next story's checkpoint, once saved."""
    proof: Proof | None = None
    """The gates' proof when they accepted it."""
    evidence: str = ""
    """The verdict's evidence, in one line."""
    commits: list[str] = []
    discarded: list[DiscardedWork] = []
    gates: dict[str, GateView] = {}
    """Its gates, in the order in which they first ran."""

    @property
    def usage(self) -> Usage:
        """The usage of its iterations, without a running one."""
        return self.spent.usage

    @property
    def seconds(self) -> float:
        """The seconds of its agents, without a running one."""
        return self.spent.agent_s

    def spent_s(self, now: datetime) -> float:
        """Return the time spent on it in seconds, including a running attempt."""
        runs = bool(self.attempts) and not self.attempts[-1].outcome
        return self.seconds + (self.attempts[-1].lasts_s(now) if runs else 0.0)

    @property
    def tries(self) -> int:
        """The number of its attempts; a wait for a rate limit is none."""
        return sum(one.outcome != OutcomeKind.RATE_LIMITED for one in self.attempts)

    @property
    def iteration(self) -> int | None:
        """Its latest iteration."""
        return self.attempts[-1].iteration if self.attempts else None

    @property
    def standing(self) -> StoryStanding:
        """The verdict on it so far."""
        if self.mark is StoryMark.RUNNING:
            return StoryStanding.RUNNING
        if self.mark is StoryMark.DONE:
            if not self.attempts and self.proof is None:
                return StoryStanding.EARLIER
            return StoryStanding(self.proof) if self.proof in (Proof.PROVED, Proof.UNBROKEN) else StoryStanding.WORD
        tried = [one for one in self.attempts if one.outcome and one.outcome != OutcomeKind.RATE_LIMITED]
        if not tried:
            return StoryStanding.OPEN
        if tried[-1].outcome == REFUSED:
            return StoryStanding.REFUSED
        return StoryStanding.UNFINISHED if tried[-1].outcome == OutcomeKind.INTERRUPTED else StoryStanding.FAILED

    def begin(self, attempt: IterationFigures) -> None:
        """Start an attempt; its gates are still to run."""
        self.attempts.append(attempt)
        self.gates = {name: GateView(expected_s=gate.expected_s) for name, gate in self.gates.items()}

    def start_gate(self, name: str, purpose: GatePurpose, expected_s: float, at: datetime | None) -> None:
        """Note that a gate runs."""
        before = self.gates.get(name, GateView())
        self.gates[name] = msgspec.structs.replace(before, purpose=purpose, since=at, expected_s=expected_s)

    def end_gate(self, name: str, *, judged: bool, green: bool, seconds: float) -> None:
        """Note what a gate said; a result on another tree than the claimed one is not a judgement."""
        before = self.gates.get(name, GateView())
        said = green if judged else before.green
        weighed = before.weighed and not judged
        self.gates[name] = msgspec.structs.replace(before, green=said, weighed=weighed, since=None, expected_s=seconds)

    def end(self, record: IterationRecord) -> IterationFigures:
        """End an attempt, and add up what it took."""
        attempt = next((one for one in reversed(self.attempts) if one.iteration == record.iteration), None)
        if attempt is None:
            attempt = IterationFigures(record.iteration, record.attempt or 1)
            self.attempts.append(attempt)
        attempt.end(record)
        self.spent = self.spent.with_iteration(record)
        if len(self.files) < _FILES:
            self.files.update(record.files)
        self._commit(attempt.commits)
        for result in record.gates:  # a gate that is red as it was before refuses nothing
            before = self.gates.get(result.name, GateView())
            self.gates[result.name] = msgspec.structs.replace(before, green=result.passed, weighed=True, since=None)
        if record.rejected:
            self.evidence = f"{record.rejected.name}: {record.rejected.why}"
        else:
            self.evidence = evidence(record.gates) if record.accepted else attempt.reason
        return attempt

    def revert(self, name: str, at: datetime | None) -> None:
        """Undo its last attempt's changes."""
        self.files = set(self.at_checkpoint)
        if name:
            self.discarded.append(DiscardedWork(at=at, iteration=self.iteration, name=name))
            if self.attempts:
                self.attempts[-1].discarded = name

    def accept(self, proof: Proof | None, evidence: str, commit: str | None) -> None:
        """Mark it as done."""
        self.mark, self.proof = StoryMark.DONE, proof
        self.evidence = evidence or self.evidence
        self._commit((commit,) if commit else ())

    def _commit(self, commits: tuple[str, ...]) -> None:
        self.commits += [name for name in commits if name not in self.commits]
