"""Turns a journal's events into messages for the screen."""

import asyncio

from textual.message import Message
from textual.message_pump import MessagePump

from spool.app.client import Feed
from spool.domain.events import Warned
from spool.domain.progress import LoopProgress
from spool.tui.pages import StoryIndexes
from spool.views import words

_SLICE = 100
"""Events folded before key presses are handled: well under 1 ms."""


class Bridge:
    """Reads a feed, folds its events into the progress, and posts messages."""

    class Advanced(Message):
        """The loop has new events."""

        def __init__(self, *, replayed: float) -> None:
            super().__init__()
            self.replayed = replayed
            """The share of the journal read so far, from 0 to 1."""

        def can_replace(self, message: Message) -> bool:
            """Whether this message replaces an earlier one in the queue."""
            return isinstance(message, Bridge.Advanced)

    class Warning(Message):
        """The loop has just emitted a warning."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Over(Message):
        """The runner has exited and everything it wrote has been read."""

        def __init__(self, complaint: str, *, watched: bool) -> None:
            super().__init__()
            self.complaint = complaint
            self.watched = watched
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
            batch = await self._feed.next()
            for number, placed in enumerate(batch.events, 1):
                self._indexes.add(self._progress.fold(placed.event).id, placed)
                if self._caught_up and isinstance(placed.event, Warned):
                    self._target.post_message(self.Warning(words.warning(placed.event)))
                if number % _SLICE == 0:
                    await asyncio.sleep(0)
            if batch.events:
                self._target.post_message(self.Advanced(replayed=batch.read / max(1, batch.size)))
            self._caught_up = batch.read >= batch.size
            if batch.over:
                self._target.post_message(self.Over(batch.complaint, watched=self._watched))
                return
            self._watched |= not batch.events  # the feed waits only for a live runner
            await asyncio.sleep(0)
