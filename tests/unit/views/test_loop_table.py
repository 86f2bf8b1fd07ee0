"""A table of loops fits the terminal that it is shown on."""

from datetime import UTC, datetime, timedelta

import pytest

from spool.domain.loop.summary import LoopKind, LoopSummary, Runner
from spool.domain.loop.verdict import Limits, Status
from spool.views import loop_table

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
WHY = "3 failed iterations in a row, the last: harness error: exited with code 1: the key is bad"


def row(change: str, reason: str = "") -> LoopSummary:
    return LoopSummary(
        run_id="20260101T000000-59678a",
        door=LoopKind.WORKTREE,
        project="/work/a-project",
        change=change,
        worktree="/a-project",
        status=Status.STUCK if reason else Status.RUNNING,
        reason=reason,
        iteration=13,
        run_iteration=3,
        limits=Limits(max_iterations=10),
        runner=Runner(pid=1, start_time="", boot_id="", host=""),
        started_at=BEGAN,
        updated_at=BEGAN,
    )


def table(loops: list[LoopSummary], width: int = 1 << 20) -> list[str]:
    return loop_table.table(loops, BEGAN + timedelta(seconds=7_800), width)


ROWS = [row("002-01_add-ralph-loop"), row("002-02_stories-with-a-rather-long-name-that-goes-on", WHY)]


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_every_line_fits_and_nothing_that_matters_is_missing(width: int) -> None:
    lines = table(ROWS, width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for part in (
        "59678a",
        "002-01_add",
        "002-02_stor",
        "running",
        "stuck",
        "3/10 (13)",
        "2h 10m",
        "3 failed iterations",
    ):
        assert part in text


def test_a_wider_terminal_shows_more() -> None:
    assert table(ROWS[:1], 60) == [
        "ID      CHANGE                 STATUS   ITERATION  ELAPSED",
        "59678a  002-01_add-ralph-loop  running  3/10 (13)  2h 10m",
    ]
    assert table(ROWS[:1], 80) == [
        "ID      COMMAND  PROJECT    CHANGE                 STATUS   ITERATION  ELAPSED",
        "59678a  wt-loop  a-project  002-01_add-ralph-loop  running  3/10 (13)  2h 10m",
    ]
    assert table(ROWS, 60)[-1] == "    3 failed iterations in a row, the last: harness error: …"
    assert table(ROWS, 84)[2].startswith("59678a  wt-loop  a-project  002-02_stories-with-a-rath…  stuck")
    assert WHY in table(ROWS, 200)[-1]


def test_nothing_is_cut_for_a_script() -> None:
    lines = table(ROWS)
    assert len(lines) == 3
    assert lines[-1].endswith(f"2h 10m  {WHY}")
    assert ROWS[1].change in lines[-1]
