"""What loops spend, as values."""

from datetime import UTC, datetime
from pathlib import Path

from spool.domain.agent.stream import Usage
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.state import IterationRecord
from spool.host.state.spending_log import SpendingFile

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def record(run_id: str, iteration: int, usage: Usage = Usage(tokens_in=1, cost_usd=0.25)) -> IterationRecord:  # noqa: B008
    return IterationRecord(
        iteration=iteration,
        run_id=run_id,
        started_at=NOON,
        ended_at=NOON,
        duration_s=1.0,
        harness="claude",
        model="m",
        exit_code=0,
        outcome=OutcomeKind.NO_PROMISE,
        usage=usage,
    )


def spending(folder: Path, now: datetime = NOON) -> SpendingFile:
    return SpendingFile(project="/p", change="c" * 300, now=lambda: now, folder=folder)
