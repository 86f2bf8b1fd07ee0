"""The queue's payloads: addresses, names and figures, never a secret."""

from contextlib import suppress
from dataclasses import dataclass

import msgspec

from spool.domain.loop.plan_memory import loop_in
from spool.domain.loop.summary import LoopSummary


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
    """The loop as `packed`; recorded histories have it as a text."""


def packed(summary: LoopSummary | None) -> str:
    """Return where a loop stands as a text that goes through the queue, empty for None."""
    return msgspec.json.encode(summary).decode() if summary else ""


def unpacked(text: str) -> LoopSummary | None:
    """Return the loop of a text; None if it is empty, or of another version."""
    with suppress(msgspec.MsgspecError):
        return loop_in(text, LoopSummary) if text else None
    return None
