"""The ways in which a target branch cannot be moved."""

from spool.errors import CommandError, Hint


class TargetMoved(CommandError):
    """The target is no longer where it was."""


class TreeInTheWay(CommandError):
    """The working tree that has the target checked out cannot be moved without losing something."""

    def __init__(self, message: str, *, hint: str = Hint.CLEAN_TREE, files: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.files = files


class Unsettled(CommandError):
    """A move was begun and could not be undone; the next landing tries again."""
