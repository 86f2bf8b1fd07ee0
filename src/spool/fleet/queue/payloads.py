"""The queue's payloads: addresses, names and figures, never a secret."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class QueuedChange:
    """A change to run; everything else about it is in its snapshot."""

    remote: str
    snapshots: str
    change: str
    account: str = ""
    heartbeat_s: float = 60.0
    carry_logs: bool = False


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One activity: the change, and what orders the attempts at it."""

    task: QueuedChange
    started: int
    turn: int


@dataclass(frozen=True, kw_only=True)
class TurnReport:
    """A turn's end."""

    stage: str
    reason: str = ""
    exit_code: int | None = None
    retry_at: str = ""
    """The start of the next turn, in ISO format; empty if there is none."""
    iteration: int = 0
    epoch: int = 0
    holder: str = ""
    summary: str = ""
    """The LoopSummary as JSON, without what agents said."""
