"""How a report is laid out, whatever the loop did."""

from datetime import timedelta

import msgspec
import pytest

from spool.app.reporting.diffs import Diff, FileChange
from spool.app.reporting.loop_reports import LoopReports
from spool.domain.account.account import LoopAccount
from spool.domain.account.history import Activity, LoopHistory, Stretch
from spool.domain.account.story_history import IterationFigures, StoryStanding
from spool.domain.change.workspaces import Kind, Workspace
from spool.views.report import charts
from spool.views.report.html import html
from spool.views.report.markdown_report import markdown
from spool.views.report.report_words import steps
from spool.views.report.terminal import page
from tests.support.scene import START, finished, half_way, loop_in, stuck
from tests.unit.domain.accounts import account


def reported(found: LoopHistory) -> LoopReports:
    from pathlib import Path

    loop = msgspec.structs.replace(loop_in(Path("/srv/shop")), project="/srv/shop", worktree="/srv/shop")
    one = LoopAccount(
        loop=loop, history=found, branch="change/add-auth", base_branch="main", again="spool run add-auth"
    )
    return LoopReports(made_at=START, since=None, loops=(one,))


def lines(found: LoopHistory, width: int) -> list[str]:
    return [text for text, *_ in page(reported(found), width)]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("end", [stuck, finished])
def test_every_line_but_a_command_fits(width: int, end: object) -> None:
    shown = lines(account([*half_way(), *end()]), width)  # type: ignore[operator]
    assert [line for line in shown if len(line) > width and "spool " not in line and "git " not in line] == []


def test_a_finished_loop_on_a_branch_lands_by_a_merge() -> None:
    shown = lines(account([*half_way(), *finished()]), 120)
    assert shown[-2:] == ["Land with:", "  git -C /srv/shop merge change/add-auth"]


def test_a_loop_that_only_just_started() -> None:
    assert any("until now, still running" in line for line in lines(account(half_way()[:1]), 80))


def test_a_journal_that_is_gone_is_said() -> None:
    report = reported(account([]))
    gone = msgspec.structs.replace(report, loops=(msgspec.structs.replace(report.loops[0], gone=True),))
    assert any("journal is gone" in text for text, *_ in page(gone, 80))
    assert "journal is gone" in markdown(gone)


def many(count: int) -> LoopHistory:
    """A loop of many iterations."""
    found = account([*half_way(), *stuck()])
    times = [START + timedelta(minutes=place) for place in range(count)]
    attempts = [
        IterationFigures(number, 1, outcome="failed", seconds=9.0, began_at=at) for number, at in enumerate(times)
    ]
    stretches = [
        Stretch(activity=Activity.AGENT, began_at=at, ended_at=at + timedelta(minutes=1), label="x") for at in times
    ]
    return msgspec.structs.replace(found, attempts=attempts, stretches=stretches)


def test_charts_of_thousands_of_iterations_stay_small() -> None:
    long = many(5_000)
    assert charts.per_iteration(long).count("<rect") <= 200
    assert charts.timeline(long).count("<rect") < 1_100
    assert "25 iterations per bar" in charts.per_iteration(long)


@pytest.mark.parametrize(
    ("attempts", "said"), [(6, "1 earlier attempt also failed"), (7, "2 earlier attempts also failed")]
)
def test_attempts_that_are_left_out_are_counted(attempts: int, said: str) -> None:
    found = account([*half_way(), *stuck()])
    failed = next(story for story in found.stories if story.standing is StoryStanding.FAILED)
    tries = [IterationFigures(number, 1, story_id=failed.id, outcome="failed") for number in range(attempts)]
    shown = lines(msgspec.structs.replace(found, attempts=tries), 120)
    assert [line.strip() for line in shown if "also failed" in line] == [said]


def test_a_chart_of_one_moment_divides_by_nothing() -> None:
    at_once = msgspec.structs.replace(many(1).stretches[0], ended_at=START)
    assert "<svg" in charts.timeline(msgspec.structs.replace(many(1), stretches=[at_once]))
    assert charts.timeline(msgspec.structs.replace(many(1), stretches=[])) == ""


def test_long_diffs_are_cut_and_what_is_no_utf8_is_replaced() -> None:
    patch = "diff\n@@ -1 +1 @@\n" + "+x\n" * 30_000
    files = (FileChange("a\udcff<&.py", 30_000, 0, patch), FileChange("big.bin"))
    written = "".join(html(reported(account([*half_way(), *stuck()])), lambda _: {"1": Diff(files=files)}))
    assert written.count("+x") == 1_998
    assert "(28002 more lines)" in written
    assert "&lt;&amp;.py" in written
    assert written.encode("utf-8", "replace")


def test_uncommitted_work_is_reviewed_with_its_new_files() -> None:
    found = steps(reported(account([*half_way(), *stuck()])).loops[0])
    assert [step.command.split(" ", 3)[3] for step in found if "Review" in step.label or step.label == "and"] == [
        "status -vv"
    ]


@pytest.mark.parametrize("kind", [Kind.WORKTREE, Kind.CLONE])
def test_work_in_a_workspace_is_reviewed_in_the_persons_own_repository(kind: Kind) -> None:
    report = reported(account([*half_way(), *stuck()]))
    workspace = Workspace(
        kind=kind, path="/w/add-auth", repository="/srv/shop/.git", branch="change/add-auth", base="0123456789abcdef"
    )
    loop = msgspec.structs.replace(report.loops[0].loop, workspace=workspace, worktree="/w/add-auth")
    found = steps(msgspec.structs.replace(report.loops[0], loop=loop))
    assert found[0].command == "git -C /srv/shop log -p --reverse 0123456789ab..change/add-auth"
    commands = [step.command for step in found]
    assert any("git -C /w/add-auth" in command for command in commands) is (kind is Kind.WORKTREE)
