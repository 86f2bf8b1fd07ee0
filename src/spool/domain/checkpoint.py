"""Checkpoints and discarded attempts, as values."""

from datetime import datetime

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
