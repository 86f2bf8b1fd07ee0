"""One journal through every face: terminal, status, ps, screen, report, page and telemetry show the same figures."""

import html.parser
import io
import json
import re
from collections.abc import Iterator

import pytest

from spool.app.loops.loop_list import loop_at
from spool.app.reporting.diffs import Diff
from spool.app.reporting.loop_reports import LoopReports, Reported, account_loop
from spool.domain.account.history import LoopHistory
from spool.domain.loop.events import Event, RunEnded
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec
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
from tests.support.night import run_night, set_up_night
from tests.support.tui import make_app, opened, text_of, until
from tests.support.web import serving


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
    return report.loops[0].account


def shown(account: LoopHistory) -> list[str]:
    """Return the figures that every report shows, as words."""
    receipt = account.receipt
    assert receipt.usage.tokens is not None
    assert receipt.usage.cost_usd is not None
    assert receipt.per_proved_story is not None
    return [
        words.duration(receipt.seconds),
        f"agent {words.duration(receipt.agent_s)}",
        f"gates {words.duration(receipt.gates_s)}",
        f"waits {words.duration(receipt.waits_s)}",
        words.tokens(receipt.usage.tokens),
        f"${receipt.usage.cost_usd:.2f}",
        f"${receipt.per_proved_story.cost_usd:.2f}",
        *(name[:10] for name in account.commits),
        *(one.name for one in account.discarded),
    ]


def story_figures(account: LoopHistory) -> list[tuple[str, ...]]:
    """Return the figures of each story that began."""
    return [
        (
            str(story.attempts),
            words.duration(story.seconds),
            words.tokens(story.usage.tokens or 0),
            f"${story.usage.cost_usd:.2f}",
        )
        for story in account.stories
        if story.attempts
    ]


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


def text_in(source: str) -> str:
    """Return the text of an HTML page."""

    class Text(html.parser.HTMLParser):
        text = ""

        def handle_data(self, data: str) -> None:
            self.text += f"{data} "

    read = Text()
    read.feed(source)
    return read.text


def check(text: str, account: LoopHistory) -> None:
    """Check that a text has all figures: of the loop, and of each story on one line."""
    assert [figure for figure in shown(account) if figure not in text] == []
    assert re.search(rf"Elapsed\W+{re.escape(words.duration(account.elapsed_s))}", text)
    for figures in story_figures(account):  # in this order, with words and the time of gates in between
        assert re.search(r"\b[^\n]{0,80}?".join(map(re.escape, figures)), " ".join(text.split()))


def test_the_page(account: LoopHistory, night: Scratch) -> None:
    pytest.importorskip("starlette")
    usage = account.receipt.usage
    with serving(night) as server:
        listed, loop = text_in(server.get().text), server.loop()
        check(text_in(server.get(loop).text), account)
        for story in account.stories:
            found = " ".join(text_in(server.get(f"{loop}/story?id={story.id}").text).split())
            assert f"Cost {'-' if story.usage.cost_usd is None else f'${story.usage.cost_usd:.2f}'}" in found
            assert f"Gates {words.duration(story.gates_s) if story.gates_s else '-'}" in found
    figures = f"{words.duration(account.elapsed_s)} {words.tokens(usage.tokens or 0)} ${usage.cost_usd:.2f}"
    assert figures in " ".join(listed.split())


async def test_the_screen(
    account: LoopHistory, report: LoopReports, night: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def reported() -> Reported:
        return report.loops[0]

    app = make_app(night, monkeypatch)
    async with opened(app, (123, 60)) as pilot:
        await app.push_screen(ResultScreen(CHANGE, reported))
        await until(pilot, lambda: "Get back with:" in text_of(app))
        shown_lines = [line.strip(" ┃") for line in text_of(app).splitlines()]
    assert [figure for figure in shown(account) if figure not in "\n".join(shown_lines)] == []
    printed = [line.text for line in page(report, 120)]
    assert [line for line in printed if len(line) <= 120 and line.strip() not in shown_lines] == []


def test_telemetry(account: LoopHistory, events: list[Event], night: Scratch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from spool.app.observing.telemetry.metrics import Metrics
    from spool.app.observing.telemetry.spans import Spans

    spec = LoopSpec(run_id="r", door=LoopKind.RUN, change=CHANGE, root=str(night.root), settings=Settings())
    kept, reader, tracing = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(kept))
    spans = Spans(tracing.get_tracer("test"), spec, None, content=False)
    metrics = Metrics(MeterProvider([reader]).get_meter("test"), spec)
    for event in events:
        spans.see(event)
        metrics.see(event)
    exported = json.loads(reader.get_metrics_data().to_json())  # type: ignore[union-attr]
    found = exported["resource_metrics"][0]["scope_metrics"][0]["metrics"]
    points = {metric["name"]: metric["data"]["data_points"] for metric in found}
    usage = account.receipt.usage
    assert sum(point["sum"] for point in points["gen_ai.client.token.usage"]) == usage.tokens
    assert points["spool.cost"][0]["value"] == pytest.approx(usage.cost_usd)
    assert points["spool.stories.proved"][0]["value"] == sum(story.proved for story in account.receipt.stories)
    assert points["spool.claims.refused"][0]["value"] == account.refused_claims
    assert points["spool.promises.refused"][0]["value"] == account.refused_promises
    seconds = sum(point["sum"] for point in points["gen_ai.client.operation.duration"])
    assert seconds == pytest.approx(account.receipt.agent_s)
    agents = [span for span in kept.get_finished_spans() if span.name.startswith("invoke_agent")]
    assert [(span.attributes or {})["spool.outcome"] for span in agents] == [one.outcome for one in account.attempts]
    reverts = [span for span in kept.get_finished_spans() if span.name == "revert"]
    assert [(span.attributes or {})["spool.discarded"] for span in reverts] == [one.name for one in account.discarded]
