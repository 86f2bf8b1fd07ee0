"""How what an agent says becomes blocks of the screen."""

import pytest

from spool.app.loops.client import JournalEntry
from spool.domain.agent.stream import Message
from spool.domain.loop.events import AgentEvent
from spool.tui.blocks import Form, plain
from spool.tui.paint import Painter
from spool.tui.story_transcript import transcribe


def shown(*texts: str) -> str:
    """Return what the screen shows of a message that comes in parts."""
    parts = [Message(text=text, partial=place < len(texts) - 1) for place, text in enumerate(texts)]
    blocks = transcribe(JournalEntry(0, 0, AgentEvent(iteration=1, event=part)) for part in parts)
    return "\n".join(block.text for block in blocks)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (("All done.\n\n<promise>COMPLETE</promise>",), "All done.\n\n⚑ COMPLETE"),
        (("All done.\n\n<prom", "ise>COMPLETE</promise>\n"), "All done.\n\n⚑ COMPLETE\n"),
        (("  <promise> FAILED: no network </promise>  ",), "⚑ FAILED: no network"),
        (
            ("When it passes I print `<promise>COMPLETE</promise>`.",),
            "When it passes I print `<promise>COMPLETE</promise>`.",
        ),
        (("<promise>one\ntwo</promise>",), "<promise>one\ntwo</promise>"),
    ],
)
def test_a_promise_that_ends_a_message_is_a_sign(said: tuple[str, ...], text: str) -> None:
    assert shown(*said) == text


def test_the_rest_of_a_long_line_of_a_diff_is_marked() -> None:
    patch = "+    if not await tokens.known(request):\n\n-    return None"
    blocks = plain(patch, indent=2, form=Form.PATCH)
    lines = [strip.text.rstrip() for block in blocks for strip in Painter(24, dark=True).paint(block, opened=True)]
    assert lines == ["  +    if not await", "  ↳ tokens.known(request", "  ↳ ):", "", "  -    return None"]
