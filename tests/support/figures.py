"""The figures of a loop, which every face shows."""

import html.parser
import re

from spool.domain.account.history import LoopHistory
from spool.views import words


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
