"""Nothing is cut, whatever its length, and the index stays small."""

import asyncio
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from spool.app.loops.client import JournalEntry
from spool.domain.agent.stream import Message, StreamEvent, ToolResult, ToolUse
from spool.domain.loop.events import StoryEvent
from spool.domain.text.plain_text import clean
from spool.tui.blocks import NO_FOLD, Form, markdown
from spool.tui.pages import CHARACTERS, EVENTS, BlockPages, StoryIndex, StoryIndexes, StoryPages
from spool.tui.story_transcript import transcribe
from spool.views.live.speech import pieces


class MemoryFeed:
    """A journal in a list, one byte an event."""

    def __init__(self, said: Sequence[StreamEvent]) -> None:
        self.rows = [
            JournalEntry(at, at + 1, StoryEvent(story_id="1", iteration=1, event=event))
            for at, event in enumerate(said)
        ]

    async def page(self, start: int, stop: int) -> list[JournalEntry]:
        return self.rows[start:stop]

    def pages(self) -> StoryPages:
        index = StoryIndex()
        for row in self.rows:
            index.add(row)
        return StoryPages(self, index)  # type: ignore[arg-type]  # only pages are read


def shown(pages: StoryPages | BlockPages) -> str:
    async def all_of_it() -> str:
        return "".join([block.text for at in range(pages.count) for block in await pages.load(at)])

    return asyncio.run(all_of_it())


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf")), min_size=1, max_size=30_000), max_size=6))
def test_no_message_is_cut(texts: list[str]) -> None:
    told = shown(MemoryFeed([Message(text=text) for text in texts]).pages())
    for text in texts:
        if text.strip():
            assert text in told


@given(st.text(max_size=5_000), st.integers(4, 400))
def test_pieces_are_the_whole(text: str, limit: int) -> None:
    found = list(pieces(text, limit))
    assert "".join(found) == text
    assert all(0 < len(piece) <= limit for piece in found)


def test_pages_are_small() -> None:
    feed = MemoryFeed([Message(text="x")] * 1_000 + [Message(text="y\n" * 400_000)])
    pages = feed.pages()
    assert pages.count >= 1_000 // EVENTS + 800_000 // CHARACTERS

    async def longest() -> int:
        return max([sum(len(block.text) for block in await pages.load(at)) for at in range(pages.count)])

    assert asyncio.run(longest()) <= 2 * CHARACTERS


def test_the_parts_of_a_message_become_one() -> None:
    feed = MemoryFeed([Message(text="one ", partial=True), Message(text="two", partial=True), Message(text="")])
    assert shown(feed.pages()) == "one two"


def test_a_call_folds_with_its_result() -> None:
    said: list[StreamEvent] = [
        ToolUse(tool="read", summary="a", call_id="1"),
        ToolUse(tool="read", summary="b", call_id="2"),
        ToolResult(output="of a", call_id="1"),
        ToolResult(output="of b", call_id="2"),
    ]
    heads_and_bodies = transcribe(MemoryFeed(said).rows)
    assert [(block.text, block.head, block.fold, block.within) for block in heads_and_bodies] == [
        ("2 calls: read ×2", True, -2, NO_FOLD),  # noqa: RUF001
        ("read a", True, 0, -2),
        ("of a", False, 0, -2),
        ("read b", True, 1, -2),
        ("of b", False, 1, -2),
    ]


def test_output_is_cleaned_and_never_markup() -> None:
    evil = "\x1b]52;c;eA==\x07\x1b[2J[bold]x[/bold]\x9b"
    blocks = transcribe(
        MemoryFeed([Message(text=evil), ToolUse(tool=evil), ToolResult(output=evil), Message(text="")]).rows
    )
    assert all("\x1b" not in block.text and "\x9b" not in block.text for block in blocks)
    assert "[bold]x[/bold]" in blocks[0].text
    assert clean(evil) == "[bold]x[/bold]"


def test_a_fence_that_is_cut_goes_on() -> None:
    blocks = markdown("```python\n" + "x = 1\n" * 2_000 + "```\nafter\n")
    assert len(blocks) > 2
    assert all(block.text.startswith("```") and block.form is Form.MARKDOWN for block in blocks[:-1])
    assert all(block.fold == NO_FOLD for block in blocks)


def test_what_comes_before_the_first_story_belongs_to_it_whoever_asks_first() -> None:
    rows = MemoryFeed([Message(text=str(number)) for number in range(4)]).rows
    for asked in ((), ("1", "2"), ("2",)):
        indexes = StoryIndexes()
        indexes.add("", rows[0])
        for story in asked:  # a screen shows a story before its first event
            indexes.of(story)
        for story, row in zip("112", rows[1:], strict=True):
            indexes.add(story, row)
        assert [indexes.of(story).version for story in "12"] == [3, 1]
