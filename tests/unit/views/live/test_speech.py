"""A promise on the plain terminal reads as on the screen, in however many pieces it comes."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from spool.domain.agent.stream import Message, ToolUse
from spool.domain.loop.events import AgentEvent
from spool.views.live.line_view import PlainView
from spool.views.live.speech import Speech, flagged
from spool.views.live.terminal_view import LiveView

SAID = [
    ("All done.\n\n<promise>COMPLETE</promise>", "All done.\n\n⚑ COMPLETE"),
    ("All done. <promise>COMPLETE</promise>\n", "All done. ⚑ COMPLETE\n"),
    ("  <Promise> FAILED: no network </promise>  \nBye.", "⚑ FAILED: no network\nBye."),
    ("I print `<promise>COMPLETE</promise>`.", "I print `<promise>COMPLETE</promise>`."),
    ("See<promise>COMPLETE</promise>", "See<promise>COMPLETE</promise>"),
    ("<promise>A</promise> <promise>B</promise>", "<promise>A</promise> ⚑ B"),
    ("<promise>A</promise> and more", "<promise>A</promise> and more"),
    ("<promise>one\ntwo</promise>", "<promise>one\ntwo</promise>"),
    ("if a <b and c <p", "if a <b and c <p"),
    ("    indented\n\t\n  ", "    indented\n\t\n  "),
    ("", ""),
]


def pieces(text: str, size: int) -> Iterator[Message]:
    """Yield a message in pieces, the last one as its end."""
    for start in range(0, max(1, len(text)), size):
        yield Message(text=text[start : start + size], partial=start + size < len(text))


@pytest.mark.parametrize("size", [1, 3, 7, 400])
@pytest.mark.parametrize(("said", "shown"), SAID)
def test_a_promise_that_ends_a_line_has_its_flag(said: str, shown: str, size: int) -> None:
    assert flagged(said) == shown
    speech = Speech()
    assert "".join(speech.take(piece.text) for piece in pieces(said, size)) + speech.end() == shown


@pytest.mark.parametrize("size", [1, 400])
def test_the_plain_terminal_shows_no_tags(size: int) -> None:
    out = io.StringIO()
    view = PlainView(stream=True, verbose=False, out=out)
    for piece in pieces("Both are done.\n\n<promise>COMPLETE</promise>", size):
        view.see(AgentEvent(iteration=1, event=piece))
    assert out.getvalue() == "Both are done.\n\n⚑ COMPLETE\n"


def test_what_is_held_back_comes_before_what_follows() -> None:
    out = io.StringIO()
    view = PlainView(stream=True, verbose=False, out=out)
    for event in (
        Message(text="Is a <p", partial=True),
        ToolUse(tool="Bash", summary="make"),
        Message(text="<pro", partial=True),
    ):
        view.see(AgentEvent(iteration=1, event=event))
    view.close()
    assert out.getvalue() == "Is a <p\n  > Bash make\n<pro\n"


@pytest.mark.parametrize("size", [1, 400])
def test_the_live_terminal_shows_no_tags(size: int) -> None:
    out = io.StringIO()
    view = LiveView(verbose=False)
    view._console = view._live.console = Console(file=out, highlight=False, markup=False, emoji=False)
    for piece in pieces("Both are done.\n\n<promise>COMPLETE</promise>", size):
        view.see(AgentEvent(iteration=1, event=piece))
    view.close()
    assert "Both are done.\n\n⚑ COMPLETE\n" in out.getvalue()
    assert "promise" not in out.getvalue()


@pytest.mark.parametrize("text", ["<promise>" + " " * 60_000, " " * 60_000, ("<promise>" + " " * 399) * 150])
def test_blanks_cost_neither_time_nor_memory(text: str) -> None:
    speech = Speech()
    given = "".join(speech.take(piece.text) for piece in pieces(text, 500))
    assert len(text) - len(given) <= 4_000
    assert given + speech.end() == text
