"""What a checkpoint and a discarded attempt are to those who only ask for them."""

from datetime import datetime

import msgspec


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A saved working tree, to which the loop can go back."""

    change: str
    label: str
    saved_at: datetime
    tree: str
    head: str | None
    warnings: tuple[str, ...] = ()
    """What could not be saved, for the person to know before the agent starts."""
    half_reverted: bool = False
    """A revert to it was cut short: the tree is a mixture, and only another revert makes it whole."""


class Discarded(msgspec.Struct, frozen=True, kw_only=True):
    """The work that a revert took out of the tree. It is kept, and can be looked at and restored."""

    name: str
    change: str
    label: str
    discarded_at: datetime
    files: int
    """How many files differed from the tree that took its place."""
    head: str | None
    warnings: tuple[str, ...] = ()
    """What the revert left as it was, or could not bring back."""
