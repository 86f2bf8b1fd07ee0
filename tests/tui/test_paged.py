"""A view of a text that grows, or is exchanged, while it is painted."""

import asyncio
import random
from collections.abc import Callable

import pytest
from textual.app import App, ComposeResult

from spool.tui.blocks import NO_FOLD, Block, line
from spool.tui.pages import BlockPages
from spool.tui.widgets.paged import PagedView
from tests.support.tui import text_of, until


class GrowingPages:
    """Pages that a test writes; loading one takes a turn of the event loop, as reading a file does."""

    def __init__(self, *pages: list[str]) -> None:
        self.pages = list(pages)
        self.version = 0

    @property
    def count(self) -> int:
        return len(self.pages)

    async def load(self, number: int) -> list[Block]:
        texts = self.pages[number]
        blocks = [line(text, fold=number if text is texts[0] else NO_FOLD) for text in texts]
        await asyncio.sleep(0)
        return blocks


class Reader(App[None]):
    """One view, and nothing else."""

    def action_theme(self) -> None:
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def compose(self) -> ComposeResult:
        yield PagedView(follow=True)


async def test_what_a_page_got_before_the_next_ones_came_is_shown() -> None:
    app = Reader()
    async with app.run_test(size=(40, 20)) as pilot:
        view, source = app.query_one(PagedView), GrowingPages(["first"])
        view.show(source)
        await until(pilot, lambda: "first" in text_of(app))
        source.pages[0].append("late on the first page")
        source.pages += [["second"], ["third"]]
        source.version += 3
        view.grown()
        await until(pilot, lambda: "third" in text_of(app) and "late on the first page" in text_of(app))


async def test_a_text_that_is_exchanged_while_it_is_painted_is_left_at_once() -> None:
    app = Reader()
    async with app.run_test(size=(40, 20)) as pilot:
        view = app.query_one(PagedView)
        long = GrowingPages(*([f"long {number}"] for number in range(200)))
        for number in range(50):
            view.show(long)
            view.action_first()
            for _ in range(number % 7):
                await asyncio.sleep(0)
            view.show(BlockPages([line(f"short {number}")]), stay=number % 2 == 0)
            await asyncio.sleep(0)
        await until(pilot, lambda: "short 49" in text_of(app) and "long" not in text_of(app))


async def test_a_newer_state_of_a_text_keeps_the_place() -> None:
    app = Reader()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(PagedView)
        view.show(BlockPages([line(f"old {number}") for number in range(100)]))
        await until(pilot, lambda: "old 99" in text_of(app))
        await pilot.press("home")
        await until(pilot, lambda: "old 0" in text_of(app))
        await pilot.press("down", "down", "down")
        await until(pilot, lambda: text_of(app).lstrip().startswith("old 3"))
        view.show(BlockPages([line(f"new {number}") for number in range(100)]), stay=True)
        await until(pilot, lambda: text_of(app).lstrip().startswith("new 3"))


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_one_does_while_texts_grow_every_line_can_be_drawn(seed: int) -> None:
    chance = random.Random(seed)
    app = Reader()
    async with app.run_test(size=(40, 12)) as pilot:
        view = app.query_one(PagedView)
        texts = [GrowingPages(), GrowingPages(["one"]), GrowingPages(*(_page(number, 30) for number in range(60)))]
        view.show(texts[2])
        doings: list[Callable[[], object]] = [
            view.action_fold_all, view.action_first, view.action_last, view.action_page_up, view.action_page_down,
            lambda: view.action_mark(1), view.action_fold, view.grown, app.action_theme,
            lambda: view.show(chance.choice(texts)), lambda: view.show(chance.choice(texts), stay=True),
            lambda: view._go_to(chance.randrange(80)),
        ]  # fmt: skip
        for _ in range(400):
            text = chance.choice(texts)
            text.pages.append(_page(len(text.pages), chance.randrange(8)))
            text.version += 1
            chance.choice(doings)()
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
            text_of(app)
        texts[0].pages.append(["the very end"])
        view.show(texts[0])
        await until(pilot, lambda: "the very end" in text_of(app))


def _page(number: int, lines: int) -> list[str]:
    return [f"page {number} line {at}" for at in range(lines)]
