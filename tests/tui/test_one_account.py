"""One journal through every face: terminal, status, ps, screen and report show the same figures."""

import io
import json
import re
from collections.abc import Iterator

import pytest

from spool.app.loops.loop_list import loop_at
from spool.app.reporting.diffs import Diff
from spool.app.reporting.loop_reports import LoopReports, account_loop
from spool.domain.account.account import LoopAccount
from spool.domain.account.history import LoopHistory
from spool.domain.loop.events import Event, RunEnded
from spool.domain.loop.summary import LoopKind
from spool.domain.loop.verdict import Status
from spool.host.state.journal import JournalReader
from spool.tui.screens.result import ResultScreen
from spool.views import words
from spool.views.live.line_view import PlainView
from spool.views.receipt_lines import receipt_lines
from spool.views.report.html import html as html_report
from spool.views.report.markdown_report import markdown
from spool.views.report.terminal import page
from tests.support import CHANGE, Scratch, make_scratch
from tests.support.figures import check, shown, text_in
from tests.support.night import run_night, set_up_night
from tests.support.tui import make_app, opened, text_of, until


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    scratch = make_scratch(tmp_path_factory.mktemp("account"))
    set_up_night(scratch)
    assert run_night(scratch).returncode == 1
    yield scratch


@pytest.fixture
def events(night: Scratch) -> list[Event]:
    return list(JournalReader(night.run_state / "journal.jsonl").read())


@pytest.fixture
def report(night: Scratch) -> LoopReports:
    loop = loop_at(night.root, LoopKind.RUN, CHANGE)
    assert loop is not None
    return LoopReports(made_at=loop.updated_at, since=None, loops=(account_loop(loop),))


@pytest.fixture
def account(report: LoopReports) -> LoopHistory:
    return report.loops[0].history


def test_the_account_is_what_the_runner_saved(account: LoopHistory, events: list[Event], night: Scratch) -> None:
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert account.receipt == ended.receipt
    assert account.status is Status.STUCK
    saved = json.loads(night.run("--status", "--json").stdout)
    assert saved["receipt"]["usage"]["cost_usd"] == account.receipt.usage.cost_usd
    assert saved["state"]["iteration"] == len(account.attempts)
    assert [record["duration_s"] for record in saved["recent"]] == [one.seconds for one in account.attempts]


def test_ps_and_status(account: LoopHistory, night: Scratch) -> None:
    elapsed = words.duration(account.elapsed_s)
    head, row = night.spool("ps", "--all").stdout.splitlines()
    assert row[head.index("ELAPSED") :].split("  ")[0] == elapsed
    (listed,) = json.loads(night.spool("ps", "--all", "--json").stdout)
    assert listed["elapsed_s"] == listed["age_s"] == account.elapsed_s
    status = night.run("--status").stdout
    assert f"Elapsed   {elapsed}\n" in status
    assert [line for line in receipt_lines(account.receipt) if f"Receipt   {line}\n" not in status] == []
    cells = re.findall(r"^ *\d+  .+$", status, re.MULTILINE)
    assert len(cells) == len(account.attempts)
    for line, one in zip(cells, account.attempts, strict=True):
        assert f"  {words.duration(one.seconds)}  " in line
    assert not re.search(r"\btime\b", f"{head}{status}", re.IGNORECASE), "each figure is named by what it is"


def test_the_terminal(account: LoopHistory, events: list[Event]) -> None:
    printed = io.StringIO()
    view = PlainView(stream=True, verbose=False, out=printed)
    for event in events:
        view.see(event)
    block = printed.getvalue().rpartition("\n\n")[2]
    assert [figure for figure in shown(account) if figure not in block] == []
    assert all(line in block for line in receipt_lines(account.receipt))


def test_the_report_in_every_format(account: LoopHistory, report: LoopReports) -> None:
    pages = (
        "\n".join(line.text for line in page(report, 120)),
        markdown(report).replace("\\", ""),
        text_in("".join(html_report(report, lambda _: dict[str, Diff]()))),
    )
    for text in pages:
        check(text, account)


async def test_the_screen(
    account: LoopHistory, report: LoopReports, night: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def reported() -> LoopAccount:
        return report.loops[0]

    app = make_app(night, monkeypatch)
    async with opened(app, (123, 60)) as pilot:
        await app.push_screen(ResultScreen(CHANGE, reported))
        await until(pilot, lambda: "Get back with:" in text_of(app))
        shown_lines = [line.strip(" ┃") for line in text_of(app).splitlines()]
    assert [figure for figure in shown(account) if figure not in "\n".join(shown_lines)] == []
    printed = [line.text for line in page(report, 120)]
    assert [line for line in printed if len(line) <= 120 and line.strip() not in shown_lines] == []
