"""What the story plan needs from outside: its options, and the ports it calls."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from spool.domain.checkpoint import Checkpoint, Discarded
from spool.domain.prompt import ChangeTexts
from spool.domain.story import StoryList
from spool.domain.verdict import Limits
from spool.engine.gatekeeper import Gatekeeper
from spool.engine.ports import Emit
from spool.engine.task_book import TaskBook


class StorySource(Protocol):
    """Reads the stories of a change."""

    async def refresh(self) -> StoryList:
        """Return the current stories, after querying external tools."""
        ...

    async def stories(self) -> StoryList:
        """Return the current stories."""
        ...

    def concerns(self) -> list[str]:
        """Return the warnings of the last refresh, and clear them."""
        ...

    async def prompt_parts(self) -> ChangeTexts:
        """Return the texts for every story's prompt."""
        ...


class Checkpoints(Protocol):
    """Saves and restores the working tree, for one change in one worktree."""

    async def save(self, label: str) -> Checkpoint:
        """Save the tree durably."""
        ...

    async def current(self) -> Checkpoint | None:
        """Return the existing checkpoint, from this run or an earlier one."""
        ...

    async def revert(self, checkpoint: Checkpoint) -> Discarded | None:
        """Restore the tree; return the discarded work, which is kept, or None."""
        ...

    async def differs(self, checkpoint: Checkpoint) -> bool:
        """Whether a revert would change anything."""
        ...

    async def set_aside(self, checkpoint: Checkpoint) -> str:
        """Keep a checkpoint that another one will replace, and return the name by which it can be restored."""
        ...

    async def drop(self, checkpoint: Checkpoint) -> None:
        """Delete the checkpoint."""
        ...

    async def cleanup(self) -> None:
        """Delete everything that only a running loop needs."""
        ...


class OnResume(StrEnum):
    """What to do with the tree that an earlier run left."""

    REVERT = "revert"
    KEEP = "keep"


@dataclass(frozen=True, kw_only=True)
class StoryOptions:
    """The options of a story plan."""

    limits: Limits
    max_retries: int
    on_resume: OnResume
    """What to do with a tree that is as the earlier run left it; one that was edited since is kept."""
    question_tool: str
    learnings: str
    """Path of the file with learnings for later stories."""
    answer: OnResume | None = None
    """A person's decision for this run, whoever edited the tree."""
    fresh: bool = False
    """Whether to leave the tree alone, with a checkpoint that an earlier run left."""
    own_folders: tuple[str, ...] = ()
    """The folders of the change and of Spool, which do not count as work."""


@dataclass(frozen=True, kw_only=True)
class StoryWorld:
    """The functions that the plan calls."""

    source: StorySource
    checkpoints: Checkpoints
    read_context: Callable[[], str]
    commit: Callable[[str, tuple[str, ...]], Awaitable[str | None]] | None
    """Commits a finished story, but for the files that gates left; None if not wanted."""
    book: TaskBook
    emit: Emit
    jitter: Callable[[], float]
    keeper: Gatekeeper | None = None
    """The configured gates."""
