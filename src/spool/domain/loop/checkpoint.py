"""Checkpoints, beginnings and discarded attempts, as values."""

from datetime import datetime
from enum import StrEnum

import msgspec


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A saved working tree that the loop can revert to."""

    change: str
    label: str
    saved_at: datetime
    tree: str
    head: str | None
    warnings: tuple[str, ...] = ()
    """Files that could not be saved, reported before the agent starts."""
    half_reverted: bool = False
    """Whether a revert to it was interrupted: the tree is then a mixture, and only another revert repairs it."""


class Discarded(msgspec.Struct, frozen=True, kw_only=True):
    """The work that a revert removed from the tree. It is kept and can be restored."""

    name: str
    change: str
    label: str
    discarded_at: datetime
    files: int
    """The number of files that differed from the restored tree."""
    head: str | None
    warnings: tuple[str, ...] = ()
    """Files that the revert left unchanged or could not restore."""


class Beginning(StrEnum):
    """A tree that no attempt moves: the one before a story's first attempt, or before the run."""

    STORY = "story"
    RUN = "run"


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """A kept beginning."""

    change: str
    what: Beginning
    label: str
    began_at: datetime
    ended: bool = False
    """Whether the story, or all the work of the run, is accepted."""


class Undo(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that an undo makes."""

    begun: Begun
    back: tuple[str, ...] = ()
    """Files that return."""
    changed: tuple[str, ...] = ()
    """Files that get their earlier content."""
    removed: tuple[str, ...] = ()
    """Files that were not there."""
    commits: tuple[str, ...] = ()
    """The commits over which HEAD moves."""
    staying: tuple[str, ...] = ()
    """Why HEAD stays where it is, for each repository in which it does."""
    needed: bool = True
    """Whether anything changes at all."""


class Losses(msgspec.Struct, frozen=True, kw_only=True):
    """A person's files, held by no commit, that agents damaged."""

    deleted: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()
    unsaved: tuple[str, ...] = ()
    """Deleted, and never saved: too large, or ignored as a folder."""

    def beyond(self, known: "Losses") -> "Losses":
        """Return those that are not among the known ones."""
        return Losses(
            deleted=tuple(name for name in self.deleted if name not in known.deleted),
            emptied=tuple(name for name in self.emptied if name not in known.emptied),
            overwritten=tuple(name for name in self.overwritten if name not in known.overwritten),
            unsaved=tuple(name for name in self.unsaved if name not in known.unsaved),
        )
