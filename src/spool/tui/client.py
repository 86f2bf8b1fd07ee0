"""What the screen needs of the machine. The composition root provides it; the screen itself touches no file."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from spool.domain.events import Event
from spool.domain.settings import Settings
from spool.domain.story import StoryList


class LoopRef(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a loop: where it lives, and which process drives it."""

    door: str
    change: str
    root: str
    state: str
    """The folder with its journal and logs."""
    pid: int = 0
    start_time: str = ""


class ChangeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the selection: a change, and what its loop does or did."""

    id: str
    source: str
    title: str
    done: int = 0
    total: int = 0
    status: str = ""
    reason: str = ""
    active_at: datetime | None = None
    loop: LoopRef | None = None
    """Its latest loop, if there was one."""
    running: bool = False
    elsewhere: str = ""
    """The working tree in which it runs, if that is not this one."""


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants to read before a loop starts."""

    change: str
    title: str
    proposal: str
    tasks: str
    scenarios: tuple[str, ...] = ()
    stories: StoryList = StoryList()
    notice: str = ""
    """What stands in the way, or what an earlier run has left."""


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of one file."""

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
    """What a runner that is over said on standard error."""


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
        """Return what there is to read of a change."""
        ...

    async def prompt(self, change: str, settings: Settings) -> str:
        """Return exactly what the agent will get for the next story."""
        ...

    async def start(self, change: str, settings: Settings) -> LoopRef:
        """Start a runner of its own process group."""
        ...

    def attach(self, loop: LoopRef) -> Feed:
        """Replay a loop's journal and follow it."""
        ...

    async def stories(self, loop: LoopRef) -> StoryList:
        """Return the stories of a loop's change as they stand now."""
        ...

    async def scenarios(self, loop: LoopRef) -> tuple[str, ...]:
        """Return the scenarios that a loop's change must fulfil."""
        ...

    async def diff(self, loop: LoopRef, tree: str, until: str) -> Diff:
        """Return what has changed since a checkpoint's tree, in the working tree or in that of a later checkpoint."""
        ...

    async def add_context(self, loop: LoopRef, text: str) -> None:
        """Add a note that the next iteration will read."""
        ...

    def stop(self, loop: LoopRef) -> bool:
        """Ask a runner to stop; return whether it was there to be asked."""
        ...

    def force(self, loop: LoopRef) -> None:
        """See to it that a runner and its agent die, without waiting for it."""
        ...
