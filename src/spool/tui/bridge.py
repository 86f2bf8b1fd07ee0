"""The one bridge from a journal's events to messages of the screen."""

import asyncio

from textual.message import Message
from textual.message_pump import MessagePump

from spool.app.client import Feed
from spool.domain.events import Warned
from spool.domain.progress import LoopProgress
from spool.tui.pages import StoryIndexes
from spool.views import words

_SLICE = 100
"""Events that are folded before the keyboard has its turn: well under a millisecond."""


class Bridge:
    """Reads a feed, folds what it tells into the progress, and says so."""

    class Advanced(Message):
        """Something has happened in the loop."""

        def __init__(self, *, replayed: float) -> None:
            super().__init__()
            self.replayed = replayed
            """How much of the journal has been read, from 0 to 1."""

        def can_replace(self, message: Message) -> bool:
            """Let the newest of several in a row stand for all of them."""
            return isinstance(message, Bridge.Advanced)

    class Warning(Message):
        """The loop has warned of something just now."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Over(Message):
        """The runner is gone, and all that it wrote is known."""

        def __init__(self, complaint: str, *, watched: bool) -> None:
            super().__init__()
            self.complaint = complaint
            self.watched = watched
            """Whether it was alive a moment ago: then it ended just now."""

    def __init__(self, feed: Feed, progress: LoopProgress, indexes: StoryIndexes, target: MessagePump) -> None:
        self._feed = feed
        self._progress = progress
        self._indexes = indexes
        self._target = target
        self._caught_up = False
        self._watched = False

    async def run(self) -> None:
        """Follow the feed until the runner is gone."""
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
            self._watched |= not batch.events  # it was waited for, which nobody does for a runner that is gone
            await asyncio.sleep(0)
