"""What became of each story: its attempts, its verdict, and what is left of discarded work."""

from datetime import datetime
from enum import Enum, StrEnum, auto

import msgspec

from spool.domain.gates.values import Proof
from spool.domain.gates.words import evidence
from spool.domain.outcome import OutcomeKind
from spool.domain.receipt import StoryReceipt
from spool.domain.state import IterationRecord
from spool.domain.stream import Usage

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


class Mark(Enum):
    """The state of a story."""

    WAITING = auto()
    RUNNING = auto()
    DONE = auto()
    FAILED = auto()


class Standing(StrEnum):
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
    """Where a gate stands."""

    purpose: str = ""
    """Why it runs, or ran last."""
    green: bool | None = None
    """What it said of the last claim, or of the tree before the first agent; None if it has not run since."""
    weighed: bool = False
    """Whether `green` is a judgement: a gate that was red before the change may be red and refuse nothing."""
    since: datetime | None = None
    """When it began, while it runs."""
    expected_s: float = 0.0
    """How long it took the last time."""


class Discarded(msgspec.Struct, frozen=True, kw_only=True):
    """Work that a revert took out of the tree, and the name under which it can be restored."""

    at: datetime | None
    iteration: int | None
    name: str


class Attempt(msgspec.Struct):
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
        """Take over what was recorded of it."""
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
    mark: Mark = Mark.WAITING
    attempts: list[Attempt] = []
    spent: StoryReceipt = StoryReceipt(id=WHOLE)
    """What its iterations have taken, without a running one."""
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
    """What the gates said when they accepted it."""
    evidence: str = ""
    """What its verdict rests on, in one line."""
    commits: list[str] = []
    discarded: list[Discarded] = []
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
    def standing(self) -> Standing:
        """The verdict on it so far."""
        if self.mark is Mark.RUNNING:
            return Standing.RUNNING
        if self.mark is Mark.DONE:
            if not self.attempts and self.proof is None:
                return Standing.EARLIER
            return Standing(self.proof) if self.proof in (Proof.PROVED, Proof.UNBROKEN) else Standing.WORD
        tried = [one for one in self.attempts if one.outcome and one.outcome != OutcomeKind.RATE_LIMITED]
        if not tried:
            return Standing.OPEN
        if tried[-1].outcome == REFUSED:
            return Standing.REFUSED
        return Standing.UNFINISHED if tried[-1].outcome == OutcomeKind.INTERRUPTED else Standing.FAILED

    def begin(self, attempt: Attempt) -> None:
        """Start an attempt; its gates are still to run."""
        self.attempts.append(attempt)
        self.gates = {name: GateView(expected_s=gate.expected_s) for name, gate in self.gates.items()}

    def start_gate(self, name: str, purpose: str, expected_s: float, at: datetime | None) -> None:
        """Note that a gate runs."""
        before = self.gates.get(name, GateView())
        self.gates[name] = msgspec.structs.replace(before, purpose=purpose, since=at, expected_s=expected_s)

    def end_gate(self, name: str, *, judged: bool, green: bool, seconds: float) -> None:
        """Note what a gate said; a result on another tree than the claimed one is not a judgement."""
        before = self.gates.get(name, GateView())
        said = green if judged else before.green
        weighed = before.weighed and not judged
        self.gates[name] = msgspec.structs.replace(before, green=said, weighed=weighed, since=None, expected_s=seconds)

    def end(self, record: IterationRecord) -> Attempt:
        """End an attempt, and add up what it took."""
        attempt = next((one for one in reversed(self.attempts) if one.iteration == record.iteration), None)
        if attempt is None:
            attempt = Attempt(record.iteration, record.attempt or 1)
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
        """Take back what its last attempt changed."""
        self.files = set(self.at_checkpoint)
        if name:
            self.discarded.append(Discarded(at=at, iteration=self.iteration, name=name))
            if self.attempts:
                self.attempts[-1].discarded = name

    def accept(self, proof: Proof | None, evidence: str, commit: str | None) -> None:
        """Mark it as done."""
        self.mark, self.proof = Mark.DONE, proof
        self.evidence = evidence or self.evidence
        self._commit((commit,) if commit else ())

    def _commit(self, commits: tuple[str, ...]) -> None:
        self.commits += [name for name in commits if name not in self.commits]
