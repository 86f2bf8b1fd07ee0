"""A loop's journal and logs, as the screen reads them."""

from contextlib import suppress
from pathlib import Path

from spool.cli.tui.runner import StartedRunner
from spool.errors import SpoolError
from spool.host.runner.identity import start_time
from spool.host.state.feed import JournalFeed, Row
from spool.host.state.store import StateFolder
from spool.tui.client import Batch, LoopRef, Placed


class LocalFeed:
    """A feed in the words of the screen."""

    def __init__(self, loop: LoopRef, started: StartedRunner | None) -> None:
        self._loop = loop
        self._started = started
        self._feed = JournalFeed(Path(loop.state), self._alive, self._ready)

    async def next(self) -> Batch:
        """Wait until there is more, or until a moment has passed, and return it."""
        found, over = await self._feed.next()
        return Batch(
            events=tuple(map(_placed, found)),
            read=self._feed.offset,
            size=self._feed.size,
            over=over,
            complaint=self._started.complaint() if over and self._started else "",
        )

    async def page(self, start: int, stop: int) -> list[Placed]:
        """Return the events of a part of the journal that has been read before."""
        return list(map(_placed, await self._feed.page(start, stop)))

    async def log_sizes(self, iteration: int) -> tuple[int, int]:
        """Return how much an iteration's agent has printed: on standard error, and on standard output."""
        return await self._feed.log_sizes(iteration)

    async def log(self, iteration: int, stream: str, start: int, stop: int) -> bytes:
        """Return a part of what an iteration's agent printed, on `err` or `out`."""
        return await self._feed.log(iteration, stream, start, stop)

    def close(self) -> None:
        """Let go of the files."""
        self._feed.close()

    def _alive(self) -> bool:
        if self._started is not None:
            self._started.collect()
        return bool(self._loop.start_time) and start_time(self._loop.pid) == self._loop.start_time

    def _ready(self) -> bool:
        """Whether a runner that was just started has taken its folder over, or will not do so any more."""
        if self._started is None or not self._alive():
            return True
        with suppress(SpoolError, OSError):
            state = StateFolder(Path(self._loop.state)).load()
            return state is not None and state.runner.pid == self._loop.pid
        return False


def _placed(row: Row) -> Placed:
    return Placed(*row)
