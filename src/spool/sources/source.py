"""The seam for formats of plans: find them in a project, read one as a change, record what was accepted."""

import shutil
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from spool.domain.change.change import Change
from spool.domain.change.story import Story, StoryList
from spool.errors import UsageError
from spool.nofollow import Linked, Unreadable, folder_names, read_file

_LARGEST_TEXT = 4 << 20


class Acceptance(msgspec.Struct, frozen=True, kw_only=True):
    """A story that passed its checks, and all stories as they count."""

    story: Story
    evidence: str
    stories: StoryList


class Printed(Protocol):
    """The result of a command."""

    @property
    def exit_code(self) -> int:
        """Its exit code."""
        ...

    @property
    def output(self) -> bytes:
        """Its standard output."""
        ...

    @property
    def errors(self) -> bytes:
        """Its standard error."""
        ...


Run = Callable[[Sequence[str]], Awaitable[Printed]]
"""Runs a format's own program with these words in the project; the composition root provides it."""


class FormatTool(Protocol):
    """A program of the format's own, which checks and archives its changes."""

    name: str
    """Its name on PATH, which is also that of its gate."""
    env: dict[str, str]

    async def concerns(self, change_id: str, stories: StoryList, run: Run, *, first: bool) -> list[str]:
        """Return warnings about a change before a story; `first` asks for everything."""
        ...

    async def objections(self, change_id: str, run: Run) -> str:
        """Return what makes a change invalid; empty if nothing does."""
        ...

    async def archive(self, change_id: str, run: Run) -> str:
        """Archive a change and return what happened."""
        ...


class Source(Protocol):
    """One format of plans."""

    @property
    def kind(self) -> str:
        """Its name in lists."""
        ...

    @property
    def tool(self) -> FormatTool | None:
        """Its own program, if it has one."""
        ...

    def find(self, root: Path) -> Iterable[str]:
        """Return the ids of what a project has in this format."""
        ...

    def holds(self, root: Path, change_id: str) -> bool:
        """Whether an id means something in this format."""
        ...

    def read(self, root: Path, change_id: str) -> Change:
        """Read it as a change, with its stories."""
        ...

    def paths(self, root: Path, change_id: str) -> list[Path]:
        """Return the files and folders that belong to it."""
        ...

    def record(self, text: str, accepted: Acceptance) -> str:
        """Return the text of the task file with an accepted story; unchanged where the agent ticks boxes."""
        ...


def installed(tool: FormatTool) -> bool:
    """Whether a format's program is on PATH."""
    return shutil.which(tool.name) is not None


def names_in(folder: Path) -> list[str]:
    """Return the sorted names in a folder; none without one."""
    try:
        return folder_names(folder)
    except Linked as error:
        raise UsageError(str(error.strerror)) from None


def read_text(path: Path) -> str | None:
    """Return a text file's content; None if it does not exist. Refuse special and huge files."""
    try:
        return read_file(path, most_bytes=_LARGEST_TEXT).decode("utf-8", "replace").removeprefix("\ufeff")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Unreadable as error:
        raise UsageError(str(error.strerror)) from None


def linked(path: Path) -> UsageError:
    """Return the refusal of a link where Spool reads and writes."""
    return UsageError(f"{path} is a link", hint="Spool does not follow links there: put the folder or file itself")
