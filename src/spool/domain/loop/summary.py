"""The status of a loop as one value: all commands, the registry and JSON use `LoopSummary`."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from spool.domain.agent.sandbox_rules import NOT_SANDBOXED
from spool.domain.agent.stream import Usage
from spool.domain.change.workspaces import Workspace
from spool.domain.loop.budget import Limit
from spool.domain.loop.plan_memory import PlanMemory, PromptMemory, StoryMemory, StoryState
from spool.domain.loop.receipt import Receipt
from spool.domain.loop.verdict import Limits, Status, end_word
from spool.domain.text.common_fields import carried
from spool.domain.text.moments import Moment

SCHEMA = 1
"""Version of all files that Spool writes. A reader refuses a newer one."""
DIED = "its runner died; run the same command to continue"


class LoopKind(StrEnum):
    """The command that drives a loop; the folder of its loops has the same name."""

    RALPH = "ralph"
    RUN = "run"
    WORKTREE = "wt-loop"


class Phase(StrEnum):
    """The current activity of a running loop."""

    STARTING = "starting"
    PREPARING = "preparing"
    AGENT = "agent is working"
    RECORDING = "recording the result"
    CHECKING = "checking"
    PAUSING = "pausing after errors"
    WAITING = "waiting for a rate limit"
    ENDED = "ended"


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """The process that drives a loop, identified by more than its pid."""

    pid: int
    start_time: str
    boot_id: str
    host: str


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """A loop's usage and limits; None means unknown or unlimited."""

    iterations: int
    max_iterations: int | None
    tokens: int | None
    max_tokens: int | None
    cost: float | None
    max_cost: float | None
    max_duration_s: float | None = None


class LoopSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a loop."""

    schema: int = SCHEMA
    run_id: str
    door: LoopKind = LoopKind.RALPH
    change: str
    module: str | None = None
    project: str = ""
    """The repository's main directory."""
    worktree: str = ""
    """The top of the working tree."""
    root: str = ""
    """The directory that holds the loop's state and, without a workspace, the change."""
    folder: str = ""
    """The loop's state folder."""
    workspace: Workspace | None = None
    """The loop's workspace, if not `root`."""
    sandbox: str = NOT_SANDBOXED
    """The sandbox around the agents, in words."""
    checks: tuple[str, ...] | None = None
    """The names of the gates in force; None if an older Spool started it."""
    task: str = ""
    criterion: str = ""
    """The criterion of a worktree loop."""
    done_command: str = ""
    harness: str = ""
    model: str | None = None
    terminal: str = ""
    """A terminal's name, `tmux:SESSION`, or empty for the terminal that started it."""
    terminal_pid: int = 0
    log: str | None = None
    """The file with the terminal output."""
    status: Status = Status.RUNNING
    reason: str = ""
    bound: str = ""
    """The end of the reason: why there was no other attempt."""
    exit_code: int | None = None
    """The exit code of a run that ended; None if its runner died."""
    limit: Limit | None = None
    """The limit that ended the run, if raising it lets the loop continue."""
    phase: Phase | None = None
    phase_since: Moment | None = None
    waiting_until: Moment | None = None
    checking: str = ""
    """The gate that is running."""
    iteration: int = 0
    """The last iteration started, counted over all runs."""
    run_iteration: int = 0
    """The same, counted in this run."""
    limits: Limits = Limits()
    memory: PlanMemory = PromptMemory()
    usage: Usage = Usage()
    """The total usage of all iterations of this loop."""
    receipt: Receipt = Receipt()
    runner: Runner
    started_at: Moment
    updated_at: Moment
    ended_at: Moment | None = None
    earlier_s: float = 0.0
    """The time of the loop's earlier runs by the clock, in seconds."""

    @property
    def id(self) -> str:
        """The part of the run id that a person types."""
        return self.run_id.rpartition("-")[2]

    @property
    def name(self) -> str:
        """The project's name."""
        return self.project.rstrip("/").rpartition("/")[2]

    @property
    def fleet_id(self) -> str:
        """The id of its change in the fleet, if a worker runs it; empty otherwise."""
        return self.workspace.fleet_id if self.workspace else ""

    @property
    def directory(self) -> str:
        """The directory with the change that the loop works on."""
        return self.workspace.root if self.workspace else self.root

    @property
    def word(self) -> str:
        """The status, as the end of its run says it."""
        return end_word(self.status, self.exit_code)

    @property
    def running(self) -> bool:
        """Whether the loop is running; reliable only on a settled summary."""
        return self.status is Status.RUNNING

    @property
    def story(self) -> StoryState | None:
        """The story being worked on, if the plan has stories."""
        return self.memory.story if isinstance(self.memory, StoryMemory) else None

    @property
    def capacity(self) -> Capacity:
        """The loop's usage and limits."""
        return Capacity(
            iterations=self.run_iteration,
            max_iterations=self.limits.max_iterations,
            tokens=self.usage.tokens,
            max_tokens=self.limits.max_tokens or None,
            cost=self.usage.cost_usd,
            max_cost=self.limits.max_cost_usd or None,
            max_duration_s=self.limits.max_duration_s or None,
        )

    def age_s(self, now: datetime) -> float:
        """Return the duration of the run so far, in seconds."""
        return round(max(0.0, ((self.ended_at or now) - self.started_at).total_seconds()), 3)

    def elapsed_s(self, now: datetime) -> float:
        """Return the time of all runs of the loop by the clock, in seconds."""
        return round(self.earlier_s + self.age_s(now), 3)


def settled(summary: LoopSummary, *, alive: bool, last_seen: datetime | None = None) -> LoopSummary:
    """Return a summary corrected for its runner: a loop whose runner died is stopped, whatever was saved last."""
    if summary.status is not Status.RUNNING:
        return msgspec.structs.replace(
            summary, phase=None, waiting_until=None, ended_at=summary.ended_at or summary.updated_at
        )
    if alive:
        return summary
    return msgspec.structs.replace(
        summary,
        status=Status.STOPPED,
        reason=DIED,
        phase=None,
        waiting_until=None,
        ended_at=max(summary.started_at, last_seen or summary.updated_at),
    )


def summarized(loop: LoopSummary) -> LoopSummary:
    """Return only the summary part of a runner's state."""
    return LoopSummary(**carried(loop, LoopSummary))


def pick_latest(summaries: Sequence[LoopSummary]) -> LoopSummary | None:
    """Return the running loop, else the one active last."""
    return max(summaries, key=lambda one: (one.running, one.updated_at), default=None)


def state_path(root: str, door: str, change: str) -> str:
    """Return the state folder of a loop."""
    return f"{root.rstrip('/')}/{STATE}/{door}/{change}"


STATE = ".spool/.state"
