"""The history of each story and iteration: verdict, figures, changes and discarded work."""

from datetime import datetime
from enum import StrEnum

import msgspec

from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.findings import evidence
from spool.domain.judging.gates.gate import GatePurpose, Proof
from spool.domain.loop.outcome import OutcomeKind
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


class StoryMark(StrEnum):
    """The state of a story in the last run."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


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
    same_reason: bool = False
    """Whether the attempt before it ended in the same way, for the same reason."""
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

    @property
    def why(self) -> str:
        """Its reason, said once: an attempt that ended as the one before says so."""
        return "same reason" if self.same_reason else self.reason

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


class DiffStat(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a change, without what was reverted; a line that two iterations changed counts twice."""

    files: int = 0
    added: int = 0
    removed: int = 0
    commits: int = 0


class StoryHistory(msgspec.Struct, kw_only=True):
    """One story: where it stands, and what it took, without a running attempt."""

    id: str
    title: str
    mark: StoryMark = StoryMark.WAITING
    standing: StoryStanding = StoryStanding.OPEN
    evidence: str = ""
    """The verdict's evidence, in one line."""
    proof: Proof | None = None
    """The gates' proof when they accepted it."""
    attempts: int = 0
    """A wait for a rate limit is none."""
    iteration: int | None = None
    """Its latest iteration."""
    outcome: str = ""
    """How its last attempt ended."""
    seconds: float = 0.0
    """Seconds of its agents."""
    gates_s: float = 0.0
    usage: Usage = Usage()
    commits: tuple[str, ...] = ()
    discarded: tuple[DiscardedWork, ...] = ()
    files: tuple[str, ...] = ()
    """The files that its attempts changed, without those that were reverted."""
    added: int = 0
    removed: int = 0
    since: str = ""
    """The tree of its checkpoint; empty without one."""
    until: str = ""
    """The tree of the next story's checkpoint; empty if the working tree is to compare with."""
    gates: dict[str, GateView] = {}
    """Its gates, in the order in which they first ran."""

    @property
    def changed(self) -> DiffStat:
        """The size of its changes."""
        return DiffStat(files=len(self.files), added=self.added, removed=self.removed, commits=len(self.commits))

    def become(self, mark: StoryMark) -> None:
        """Change its state, and the verdict with it."""
        self.mark, self.standing = mark, self._standing(mark)

    def _standing(self, mark: StoryMark) -> StoryStanding:
        if mark is StoryMark.RUNNING:
            return StoryStanding.RUNNING
        if mark is StoryMark.DONE:
            if self.iteration is None and self.proof is None:
                return StoryStanding.EARLIER
            return StoryStanding(self.proof) if self.proof in (Proof.PROVED, Proof.UNBROKEN) else StoryStanding.WORD
        match self.outcome:
            case "":
                return StoryStanding.OPEN
            case _ if self.outcome == REFUSED:
                return StoryStanding.REFUSED
            case OutcomeKind.INTERRUPTED:
                return StoryStanding.UNFINISHED
            case _:
                return StoryStanding.FAILED

    def begin(self, iteration: int) -> None:
        """Start an attempt; its gates are still to run."""
        self.iteration = iteration
        self.attempts += 1
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

    def end(self, record: IterationRecord, ended: IterationFigures) -> None:
        """Add up what an attempt took, and note what was said of it."""
        if ended.outcome == OutcomeKind.RATE_LIMITED:
            self.attempts -= 1
        else:
            self.outcome = ended.outcome
        self.seconds = round(self.seconds + record.duration_s, 3)
        self.gates_s = round(self.gates_s + record.gates_s, 3)
        self.usage += record.usage
        self.added, self.removed = self.added + record.insertions, self.removed + record.deletions
        if len(self.files) < _FILES and (new := set(record.files).difference(self.files)):
            self.files = tuple(sorted((*self.files, *new)))
        for result in record.gates:  # a gate that is red as it was before refuses nothing
            before = self.gates.get(result.name, GateView())
            self.gates[result.name] = msgspec.structs.replace(before, green=result.passed, weighed=True, since=None)
        if record.rejected:
            self.evidence = f"{record.rejected.name}: {record.rejected.why}"
        else:
            self.evidence = evidence(record.gates) if record.accepted else ended.reason
        self.become(self.mark)

    def accept(self, proof: Proof | None, evidence: str) -> None:
        """Mark it as done."""
        self.proof, self.evidence = proof, evidence or self.evidence
        self.become(StoryMark.DONE)
