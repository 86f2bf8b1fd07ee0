"""The interface of a user interface to the machine: changes, loops, journals and control.

`spool.app.local_client` implements it for this machine; a user interface itself touches no file and no process.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from spool.domain.events import Event
from spool.domain.loop import LoopSummary
from spool.domain.settings import Settings
from spool.domain.story import StoryList


class ChangeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the selection: a change and its latest loop, if any."""

    id: str
    source: str
    title: str
    done: int = 0
    total: int = 0
    loop: LoopSummary | None = None
    active_at: datetime | None = None
    elsewhere: str = ""
    """The working tree of the loop, if not the current one."""

    @property
    def running(self) -> bool:
        """Whether its loop is running."""
        return self.loop is not None and self.loop.running


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """A change as shown before its loop starts."""

    change: str
    title: str
    proposal: str
    tasks: str
    scenarios: tuple[str, ...] = ()
    stories: StoryList = StoryList()
    notice: str = ""
    """Why the loop cannot start, or what an earlier run left."""


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The changes in one file."""

    path: str
    added: int | None = None
    removed: int | None = None
    patch: str = ""


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """The changes since a checkpoint."""

    files: tuple[FileDiff, ...] = ()
    note: str = ""


class Placed(msgspec.Struct, frozen=True):
    """An event and its byte range in the journal."""

    start: int
    stop: int
    event: Event


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """The next events of a journal."""

    events: tuple[Placed, ...] = ()
    read: int = 0
    size: int = 0
    """Bytes of the journal read so far, and its current size."""
    over: bool = False
    """Whether the runner has exited and everything it wrote has been read."""
    complaint: str = ""
    """The error message of a runner that failed."""


class Feed(Protocol):
    """One loop's journal and logs, as written so far."""

    async def next(self) -> Batch:
        """Wait briefly for more events and return them."""
        ...

    async def page(self, start: int, stop: int) -> list[Placed]:
        """Return the events of a part of the journal that was read before."""
        ...

    async def log_sizes(self, iteration: int) -> tuple[int, int]:
        """Return the bytes an iteration's agent printed on standard error and on standard output."""
        ...

    async def log(self, iteration: int, stream: str, start: int, stop: int) -> bytes:
        """Return a part of an iteration's output, from stream `err` or `out`."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class Client(Protocol):
    """The machine, as the screen uses it. Every method may raise a SpoolError."""

    @property
    def settings(self) -> Settings:
        """The settings for the next loop."""
        ...

    @property
    def harnesses(self) -> list[str]:
        """The names of the available agents."""
        ...

    def check(self, values: Mapping[str, str | bool]) -> Settings:
        """Return the settings with the typed values applied, or raise a UsageError."""
        ...

    async def changes(self) -> list[ChangeRow]:
        """Return the active changes, and the loops running in other worktrees."""
        ...

    async def preview(self, change: str) -> Preview:
        """Return the preview of a change."""
        ...

    async def prompt(self, change: str, settings: Settings) -> str:
        """Return the exact prompt of the next story."""
        ...

    async def start(self, change: str, settings: Settings) -> LoopSummary:
        """Start a loop in the background."""
        ...

    def attach(self, loop: LoopSummary) -> Feed:
        """Replay a loop's journal and follow it."""
        ...

    async def stories(self, loop: LoopSummary) -> StoryList:
        """Return the current stories of a loop's change."""
        ...

    async def scenarios(self, loop: LoopSummary) -> tuple[str, ...]:
        """Return the scenarios of a loop's change."""
        ...

    async def diff(self, loop: LoopSummary, tree: str, until: str) -> Diff:
        """Return the changes since a checkpoint's tree, up to a later one or to the working tree."""
        ...

    async def add_context(self, loop: LoopSummary, text: str) -> None:
        """Add a note that every later iteration reads."""
        ...

    def stop(self, loop: LoopSummary) -> bool:
        """Ask a runner to stop; return whether it was alive."""
        ...

    def force(self, loop: LoopSummary) -> None:
        """Kill a runner and its agent without waiting."""
        ...
