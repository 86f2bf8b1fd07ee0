"""The agent's stream as blocks."""

import re
from pathlib import Path

import pytest

from spool.app.loops.following import JournalEntry
from spool.domain.agent.stream import Done, Message, StreamEvent, ToolResult, ToolUse
from spool.domain.judging.gates.gate import GatePurpose
from spool.domain.loop.events import Event, GateEnded, GateStarted, IterationEnded, StoryEvent
from spool.domain.loop.outcome import OutcomeKind
from spool.web.links import Links
from spool.web.page_transcript import PageTranscript, markdown_html
from tests.support.scene import begun, loop_in, record


def placed(*events: Event | StreamEvent, start: int = 0) -> list[JournalEntry]:
    whole = [one if isinstance(one, Event) else StoryEvent(story_id="1", iteration=1, event=one) for one in events]
    return [JournalEntry(start + 10 * place, start + 10 * place + 10, event) for place, event in enumerate(whole)]


def transcript() -> PageTranscript:
    return PageTranscript(Links("/x/"), loop_in(Path("/srv/shop")))


def ids(html: str) -> list[str]:
    return re.findall(r'<div class="block" id="(\w+)"', html)


def test_parts_of_a_message_are_one_block_that_grows() -> None:
    made = transcript()
    first = made.take(placed(Message(text="One ", partial=True), Message(text="*two*", partial=True)))
    assert "One <em>two</em>" in first
    assert made.resumes_at == 0
    second = made.take(placed(Message(text=" three"), start=20))
    assert ids(first) == ids(second) == ["e0"]
    assert "One <em>two</em> three" in second
    assert made.resumes_at == 30


def test_results_complete_their_calls_in_any_order() -> None:
    made = transcript()
    shown = made.take(placed(ToolUse(tool="a", call_id="1"), ToolUse(tool="b", call_id="2")))
    assert shown.count("► running") == 2
    late = made.take(placed(ToolResult(output="of b", call_id="2"), ToolResult(output="of a", call_id="1"), start=20))
    assert ids(late) == ["e0", "e10"]
    assert re.search(r"a <small>1 line.*of a.*b <small>1 line.*of b", late, re.DOTALL)
    assert made.resumes_at == 40


def test_a_result_without_its_call_stands_alone() -> None:
    assert "result <small>1 line" in transcript().take(placed(ToolResult(output="x", call_id="gone")))


def test_no_call_runs_after_its_iteration() -> None:
    made = transcript()
    made.take(placed(begun(1), ToolUse(tool="a", call_id="1")))
    ended = made.take(placed(IterationEnded(record=record(1, "1", 1, OutcomeKind.FAILED)), start=20))
    assert "running" not in ended
    assert made.resumes_at == 30


def test_a_gate_is_one_block_from_its_start_to_its_end() -> None:
    made = transcript()
    first = made.take(placed(GateStarted(gate="tests", purpose=GatePurpose.CLAIM)))
    second = made.take(placed(GateEnded(gate="tests", purpose=GatePurpose.CLAIM, green=False, duration_s=3), start=10))
    assert ids(first) == ids(second)
    assert "► claimed → tests: running" in first
    assert "! claimed → tests red · 3.0s" in second


def test_a_final_answer_that_repeats_the_last_message_is_left_out() -> None:
    made = transcript()
    made.take(placed(Message(text="All done.")))
    assert made.take(placed(Done(content="All done."), start=10)) == ""
    assert "Another" in made.take(placed(Done(content="Another"), start=20))


def test_long_texts_are_cut_and_lead_to_the_whole() -> None:
    made = transcript()
    shown = made.take(placed(Message(text="word " * 50_000), ToolResult(output="line\n" * 50_000, call_id="x")))
    assert len(shown) < 120_000
    assert re.findall(r'href="(/x/loop/1/output\?at=\d+)"', shown) == [
        "/x/loop/1/output?at=0",
        "/x/loop/1/output?at=10",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "<script>alert(1)</script>",
        "[a](javascript:alert(1))",
        "![a](http://example.com/a.png)",
        "<http://example.com/>",
        "[a]: http://example.com\n\n[a]",
        '```"><img src=x onerror=alert(1)>\nx\n```',
        '| a |\n|:--:|\n| <img src=x onerror="alert(1)"> |',
        "# <b onclick=alert(1)>",
        "&lt;script&gt; &#60;script&#62;",
        '<details open ontoggle="alert(1)">',
    ],
)
def test_markdown_can_neither_run_nor_load(source: str) -> None:
    shown = markdown_html(source)
    tags = re.findall(r"<(/?\w+)([^>]*)>", shown)
    known = {"p", "pre", "code", "table", "thead", "tbody", "tr", "td", "em", "strong"}
    assert {name.strip("/") for name, _ in tags} <= known
    assert not [given for _, given in tags if re.search(r"\b(href|src|style|on\w+)\s*=", re.sub('"[^"]*"', "", given))]


@pytest.mark.parametrize("source", ["<promise>" + " " * 60_000, "<promise>\n" * 9_000, ("<promise>" + " " * 399) * 150])
def test_blanks_around_a_promise_cost_nothing(source: str) -> None:
    assert "⚑" not in transcript().take(placed(Message(text=source)))


def test_a_promise_has_its_flag() -> None:
    shown = transcript().take(placed(Message(text="Done.\n\n <promise> COMPLETE </promise> ")))
    assert "⚑ COMPLETE" in shown
    assert "promise" not in shown
