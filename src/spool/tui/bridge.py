"""Turns a journal's events into messages for the screen."""

import asyncio
from dataclasses import dataclass

from textual.message import Message
from textual.message_pump import MessagePump

from spool.app.loops.client import Feed
from spool.domain.account.progress import LoopProgress
from spool.domain.loop.events import Warned
from spool.tui.pages import StoryIndexes
from spool.views import words

_MANY = 50
_SLICE = 100
"""Events folded before key presses are handled: well under 1 ms."""


class Bridge:
    """Reads a feed, folds its events into the progress, and posts messages."""

    @dataclass
    class Advanced(Message):
        """The loop has new events."""

        replayed: float
        """The share of the journal read so far, from 0 to 1."""
        many: bool
        """Whether there are more at once than anybody can read."""

        def can_replace(self, message: Message) -> bool:
            """Whether this message replaces an earlier one in the queue."""
            return isinstance(message, Bridge.Advanced)

    @dataclass
    class Warning(Message):
        """The loop has just emitted a warning."""

        text: str

    @dataclass
    class Over(Message):
        """The runner has exited and everything it wrote has been read."""

        watched: bool
        """Whether it was alive a moment ago, so that it ended just now."""

    def __init__(self, feed: Feed, progress: LoopProgress, indexes: StoryIndexes, target: MessagePump) -> None:
        self._feed = feed
        self._progress = progress
        self._indexes = indexes
        self._target = target
        self._caught_up = False
        self._watched = False

    async def run(self) -> None:
        """Follow the feed until the runner has exited."""
        while True:
            rows, over = await self._feed.next()
            for number, placed in enumerate(rows, 1):
                self._indexes.add(self._progress.fold(placed.event).id, placed)
                if self._caught_up and isinstance(placed.event, Warned):
                    self._target.post_message(self.Warning(words.warning(placed.event)))
                if number % _SLICE == 0:
                    await asyncio.sleep(0)
            if rows:
                self._target.post_message(self.Advanced(self._feed.offset / max(1, self._feed.size), len(rows) > _MANY))
            self._caught_up = self._feed.offset >= self._feed.size
            if over:
                self._target.post_message(self.Over(self._watched))
                return
            self._watched |= not rows  # the feed waits only for a live runner
            await asyncio.sleep(0)
