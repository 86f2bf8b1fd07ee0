"""The facts that a runner emits. Everything a person sees is a view of them."""

from datetime import datetime

import msgspec

from spool.domain.loop import SCHEMA
from spool.domain.state import IterationRecord
from spool.domain.stream import StreamEvent, Usage
from spool.domain.verdict import Limits, Status


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of the events: the journal fills in when, in which order and in which run one happened."""

    at: datetime | None = None
    seq: int = 0
    run_id: str = ""


class RunStarted(_Event, frozen=True, kw_only=True, tag="RunStarted"):
    """A runner has begun, or goes on with, a loop."""

    schema: int = SCHEMA
    change: str
    harness: str
    model: str | None
    limits: Limits
    iteration: int
    """The number of iterations that earlier runs have made."""


class IterationStarted(_Event, frozen=True, kw_only=True, tag="IterationStarted"):
    """An agent is about to be started."""

    iteration: int
    run_iteration: int
    max_iterations: int | None
    prompt: str
    """Path of the file that holds exactly what the agent gets."""


class AgentEvent(_Event, frozen=True, kw_only=True, tag="AgentEvent"):
    """Something the agent said or did."""

    iteration: int
    event: StreamEvent


class StoryProgress(_Event, frozen=True, kw_only=True, tag="StoryProgress"):
    """Work on a story begins, or begins again."""

    story_id: str
    title: str
    current: int
    total: int
    completed: int
    attempt: int = 1
    max_attempts: int | None = None


class StoryEvent(_Event, frozen=True, kw_only=True, tag="StoryEvent"):
    """Something the agent said or did for a story; nothing is cut."""

    story_id: str
    iteration: int
    event: StreamEvent


class CheckpointSaved(_Event, frozen=True, kw_only=True, tag="CheckpointSaved"):
    """The working tree is saved, and can be brought back."""

    story_id: str
    tree: str


class Reverted(_Event, frozen=True, kw_only=True, tag="Reverted"):
    """The working tree is as it was before the attempt; what that one did is kept under a name."""

    story_id: str
    kept_as: str
    resumed: bool = False
    """Whether an earlier run left the tree so; a person may have worked in it since."""


class CheckpointDropped(_Event, frozen=True, kw_only=True, tag="CheckpointDropped"):
    """A checkpoint is no longer needed."""

    story_id: str


class Retrying(_Event, frozen=True, kw_only=True, tag="Retrying"):
    """The story is tried again."""

    story_id: str
    attempt: int
    max_retries: int
    because: str


class StoryDone(_Event, frozen=True, kw_only=True, tag="StoryDone"):
    """A story is complete."""

    story_id: str
    title: str
    commit: str | None = None


class IterationEnded(_Event, frozen=True, kw_only=True, tag="IterationEnded"):
    """An iteration is over and on disk."""

    record: IterationRecord


class Waiting(_Event, frozen=True, kw_only=True, tag="Waiting"):
    """The loop waits: for a rate limit, or between errors."""

    seconds: float
    until: datetime
    reason: str


class Warned(_Event, frozen=True, kw_only=True, tag="Warning"):
    """Something a person should know, though the loop continues."""

    message: str
    hint: str = ""
    """What to do about it: a value of `errors.Hint`, or words."""


class StopRequested(_Event, frozen=True, kw_only=True, tag="StopRequested"):
    """Somebody asked the loop to stop."""

    by: str
    forced: bool = False


class Complete(_Event, frozen=True, kw_only=True, tag="Complete"):
    """The change is done."""

    iterations: int
    usage: Usage = Usage()


class Error(_Event, frozen=True, kw_only=True, tag="Error"):
    """The loop ends without its work being done."""

    reason: str
    story_id: str | None = None
    kept: str = ""
    """The story whose last attempt is in the working tree."""


class RunEnded(_Event, frozen=True, kw_only=True, tag="RunEnded"):
    """The runner is about to leave; always the last event of a run."""

    status: Status
    reason: str
    exit_code: int


Event = (
    RunStarted
    | IterationStarted
    | AgentEvent
    | StoryProgress
    | StoryEvent
    | StoryDone
    | CheckpointSaved
    | Reverted
    | CheckpointDropped
    | Retrying
    | IterationEnded
    | Waiting
    | Warned
    | StopRequested
    | Complete
    | Error
    | RunEnded
)
