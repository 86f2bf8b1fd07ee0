"""What a face needs of the machine, a screen's as well as a page's: changes, loops, their journals and control.

`spool.app.local_client` provides it for this machine; a face itself touches no file and no process.
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
    """A line of the selection: a change, and its latest loop, if there was one."""

    id: str
    source: str
    title: str
    done: int = 0
    total: int = 0
    loop: LoopSummary | None = None
    active_at: datetime | None = None
    elsewhere: str = ""
    """The working tree in which the loop runs, if that is not this one."""

    @property
    def running(self) -> bool:
        """Whether its loop runs."""
        return self.loop is not None and self.loop.running


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a person reads before a loop starts."""

    change: str
    title: str
    proposal: str
    tasks: str
    scenarios: tuple[str, ...] = ()
    stories: StoryList = StoryList()
    notice: str = ""
    """What stands in the way, or what an earlier run has left."""


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What changed in one file."""

    path: str
    added: int | None = None
    removed: int | None = None
    patch: str = ""


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed since a checkpoint."""

    files: tuple[FileDiff, ...] = ()
    note: str = ""


class Placed(msgspec.Struct, frozen=True):
    """An event, and where in the journal it stands."""

    start: int
    stop: int
    event: Event


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """The next events of a journal."""

    events: tuple[Placed, ...] = ()
    read: int = 0
    size: int = 0
    """How much of the journal is read, and how long it is now."""
    over: bool = False
    """The runner is gone, and everything it wrote has been read."""
    complaint: str = ""
    """What a runner that failed said."""


class Feed(Protocol):
    """One loop's journal and logs, as far as they are written."""

    async def next(self) -> Batch:
        """Wait until there is more, or until a moment has passed, and return it."""
        ...

    async def page(self, start: int, stop: int) -> list[Placed]:
        """Return the events of a part of the journal that has been read before."""
        ...

    async def log_sizes(self, iteration: int) -> tuple[int, int]:
        """Return how much an iteration's agent has printed: on standard error, and on standard output."""
        ...

    async def log(self, iteration: int, stream: str, start: int, stop: int) -> bytes:
        """Return a part of what an iteration's agent printed, on `err` or `out`."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...


class Client(Protocol):
    """The machine, as far as the screen is concerned. Every method may raise a SpoolError."""

    @property
    def settings(self) -> Settings:
        """The settings that a loop starts with unless a person changes them."""
        ...

    @property
    def harnesses(self) -> list[str]:
        """The agents that can be picked."""
        ...

    def check(self, values: Mapping[str, str | bool]) -> Settings:
        """Return the settings with what a person has typed, or raise a UsageError."""
        ...

    async def changes(self) -> list[ChangeRow]:
        """Return the active changes, and the loops that run elsewhere."""
        ...

    async def preview(self, change: str) -> Preview:
        """Return what a person reads of a change."""
        ...

    async def prompt(self, change: str, settings: Settings) -> str:
        """Return exactly what the agent will get for the next story."""
        ...

    async def start(self, change: str, settings: Settings) -> LoopSummary:
        """Start a loop in the background."""
        ...

    def attach(self, loop: LoopSummary) -> Feed:
        """Replay a loop's journal and follow it."""
        ...

    async def stories(self, loop: LoopSummary) -> StoryList:
        """Return the stories of a loop's change as they stand now."""
        ...

    async def scenarios(self, loop: LoopSummary) -> tuple[str, ...]:
        """Return the scenarios that a loop's change must fulfil."""
        ...

    async def diff(self, loop: LoopSummary, tree: str, until: str) -> Diff:
        """Return what has changed since a checkpoint's tree, in the working tree or in that of a later checkpoint."""
        ...

    async def add_context(self, loop: LoopSummary, text: str) -> None:
        """Add a note that the next iteration will read."""
        ...

    def stop(self, loop: LoopSummary) -> bool:
        """Ask a runner to stop; return whether it was there to be asked."""
        ...

    def force(self, loop: LoopSummary) -> None:
        """Kill a runner and its agent, without waiting for it."""
        ...
