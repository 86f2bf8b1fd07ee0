"""The events that a runner emits. All views are built from them."""

from typing import Literal

import msgspec

from spool.domain.agent.sandbox_rules import NOT_SANDBOXED
from spool.domain.agent.stream import StreamEvent, Usage
from spool.domain.change.tasks import Boxes
from spool.domain.judging.gates.gate import GatePurpose, Proof
from spool.domain.loop.budget import Limit
from spool.domain.loop.receipt import Receipt
from spool.domain.loop.state import IterationRecord
from spool.domain.loop.summary import SCHEMA
from spool.domain.loop.verdict import Limits, Status
from spool.domain.text.moments import Moment


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of the events; the journal fills in the time, the sequence number and the run."""

    at: Moment | None = None
    seq: int = 0
    run_id: str = ""


class RunStarted(_Event, frozen=True, kw_only=True, tag="RunStarted"):
    """A runner has started or continued a loop."""

    schema: int = SCHEMA
    change: str
    harness: str
    model: str | None
    limits: Limits
    iteration: int
    """The number of iterations in earlier runs."""
    sandbox: str = NOT_SANDBOXED
    """The sandbox around the agents, in words."""
    allow_all: bool | None = None
    """Whether the agent uses its tools without asking; None in an older journal."""
    usage: Usage = Usage()
    """The usage of earlier runs."""
    started_at: Moment | None = None
    """When its runner started, as the loop's state has it; None in an older journal."""
    checks: tuple[str, ...] | None = None
    """The names of the gates in force; None in an older journal."""


class IterationStarted(_Event, frozen=True, kw_only=True, tag="IterationStarted"):
    """An agent is about to start."""

    iteration: int
    run_iteration: int
    max_iterations: int | None
    prompt: str
    """Path of the file with the exact prompt."""
    boxes: Boxes | None = None
    """The boxes of the change before the agent; None if they are unknown."""


class AgentEvent(_Event, frozen=True, kw_only=True, tag="AgentEvent"):
    """A stream event of the agent."""

    iteration: int
    event: StreamEvent


class StoryProgress(_Event, frozen=True, kw_only=True, tag="StoryProgress"):
    """An attempt at a story starts."""

    story_id: str
    title: str
    current: int
    total: int
    completed: int
    attempt: int = 1
    max_attempts: int | None = None


class StoryEvent(_Event, frozen=True, kw_only=True, tag="StoryEvent"):
    """A stream event of the agent during a story, uncut."""

    story_id: str
    iteration: int
    event: StreamEvent


class CheckpointSaved(_Event, frozen=True, kw_only=True, tag="CheckpointSaved"):
    """The working tree is saved and can be restored."""

    story_id: str
    tree: str


class Reverted(_Event, frozen=True, kw_only=True, tag="Reverted"):
    """The working tree is back at its checkpoint; the discarded work is kept under a name."""

    story_id: str
    kept_as: str
    resumed: bool = False
    """Whether an earlier run left the tree; a person may have edited it since."""


class TreeKept(_Event, frozen=True, kw_only=True, tag="TreeKept"):
    """A story continues from the working tree as an earlier run, or a person, left it."""

    story_id: str
    saved_as: str
    """The name under which the story's earlier checkpoint can be restored."""
    edited: bool = False
    """Whether the tree is not known to be the one that the earlier run left."""


class CheckpointDropped(_Event, frozen=True, kw_only=True, tag="CheckpointDropped"):
    """A checkpoint is no longer needed."""

    story_id: str


class Retrying(_Event, frozen=True, kw_only=True, tag="Retrying"):
    """The story is about to be retried."""

    story_id: str
    attempt: int
    max_retries: int
    because: str


class StoryDone(_Event, frozen=True, kw_only=True, tag="StoryDone"):
    """A story is complete."""

    story_id: str
    title: str
    commit: str | None = None
    proof: Proof | None = None
    evidence: str = ""
    """The gates' findings, in one line."""
    boxes: Boxes | None = None
    """The boxes of the change, with the story's items that have none as ticked; None if they are unknown."""


class IterationEnded(_Event, frozen=True, kw_only=True, tag="IterationEnded"):
    """An iteration has ended and is recorded."""

    record: IterationRecord


class GateStarted(_Event, frozen=True, kw_only=True, tag="GateStarted"):
    """A gate is about to run."""

    gate: str
    purpose: GatePurpose
    expected_s: float = 0.0
    """The last run's duration; 0 if that is unknown."""


class GateEnded(_Event, frozen=True, kw_only=True, tag="GateEnded"):
    """A gate has run."""

    gate: str
    purpose: GatePurpose
    green: bool
    duration_s: float = 0.0
    log: str = ""


class Working(_Event, frozen=True, kw_only=True, tag="Working"):
    """Spool itself is busy with a large tree; small ones emit nothing."""

    step: Literal["checkpoint", "restore", "clone"]
    share: float
    """The share done, from 0 to 1."""
    files: int


class Waiting(_Event, frozen=True, kw_only=True, tag="Waiting"):
    """The loop is waiting for a rate limit or pausing after errors."""

    seconds: float
    until: Moment
    reason: str


class WaitEnded(_Event, frozen=True, kw_only=True, tag="WaitEnded"):
    """A wait is over, or a stop ended it."""

    seconds: float


class Warned(_Event, frozen=True, kw_only=True, tag="Warning"):
    """A warning; the loop continues."""

    message: str
    hint: str = ""
    """The next step: a value of `errors.Hint`, or text."""
    about: Literal["", "commit"] = ""
    """`commit` if a commit of Spool's failed."""


class StopRequested(_Event, frozen=True, kw_only=True, tag="StopRequested"):
    """A stop of the loop was requested."""

    by: str
    forced: bool = False


class Complete(_Event, frozen=True, kw_only=True, tag="Complete"):
    """The change is done."""

    iterations: int
    usage: Usage = Usage()
    proof: Proof | None = None
    """The work's proof, if any."""
    evidence: str = ""
    """Why, in one line."""
    boxes: Boxes | None = None
    """The boxes of the change, with the items that have none as ticked; None if they are unknown."""


class Error(_Event, frozen=True, kw_only=True, tag="Error"):
    """The loop ends with its work unfinished."""

    reason: str
    story_id: str | None = None
    kept: str = ""
    """The story whose last attempt is in the working tree."""


class RunEnded(_Event, frozen=True, kw_only=True, tag="RunEnded"):
    """The runner is about to exit; always the last event of a run."""

    status: Status
    reason: str
    bound: str = ""
    """The end of the reason: why there was no other attempt."""
    exit_code: int
    limit: Limit | None = None
    """The limit that ended it, if raising it lets the loop continue."""
    receipt: Receipt | None = None
    """The loop's use so far; None after an error of Spool's before its first iteration."""
    ended_at: Moment | None = None
    """When it ended, as the loop's state has it; None in an older journal."""
    retry_at: Moment | None = None
    """When to start the loop again, if a rate limit ended a run that does not wait for it."""
    begun: bool = False
    """Whether the tree before the run is kept, for a person to go back to."""


class NotStarted(_Event, frozen=True, kw_only=True, tag="NotStarted"):
    """A change of several that were to run was not started; in no journal, only in the stream of all."""

    change: str
    reason: str


Event = (
    RunStarted
    | IterationStarted
    | AgentEvent
    | StoryProgress
    | StoryEvent
    | StoryDone
    | CheckpointSaved
    | Reverted
    | TreeKept
    | CheckpointDropped
    | Retrying
    | IterationEnded
    | GateStarted
    | GateEnded
    | Working
    | Waiting
    | WaitEnded
    | Warned
    | StopRequested
    | Complete
    | Error
    | RunEnded
    | NotStarted
)


def said_in(event: Event) -> StreamEvent | None:
    """Return the agent's stream event in an event of a loop or of a story; None for the loop's own."""
    return event.event if isinstance(event, StoryEvent | AgentEvent) else None
