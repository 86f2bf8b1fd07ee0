"""The ports of the story plan: stories, and checkpoints of the tree."""

from enum import StrEnum
from typing import Protocol

from spool.domain.change.story import Story, StoryList
from spool.domain.loop.checkpoint import Checkpoint, Discarded
from spool.domain.loop.prompt import ChangeTexts


class StorySource(Protocol):
    """Reads the stories of a change."""

    async def refresh(self) -> StoryList:
        """Return the current stories, after querying external tools."""
        ...

    async def stories(self) -> StoryList:
        """Return the current stories."""
        ...

    async def record(self, story: Story, stories: StoryList, evidence: str) -> list[str]:
        """Write an accepted story into the plan, in its format's own way; return warnings. Safe to repeat."""
        ...

    def concerns(self) -> list[str]:
        """Return the warnings of the last refresh, and clear them."""
        ...

    async def prompt_parts(self) -> ChangeTexts:
        """Return the texts for every story's prompt."""
        ...


class StoryCheckpoints(Protocol):
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
    """The action on an earlier run's tree."""

    REVERT = "revert"
    KEEP = "keep"
