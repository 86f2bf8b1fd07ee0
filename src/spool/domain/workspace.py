"""Where a loop works: in the tree one stands in, in a git worktree, or in a clone."""

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """The kinds of workspaces."""

    HERE = "here"
    WORKTREE = "worktree"
    CLONE = "clone"


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """A working tree other than the one that holds a loop's state."""

    kind: Kind
    id: str = ""
    """Tells it from another one that is made later at the same place."""
    path: str
    """The top of the working tree."""
    inside: str = ""
    """The directory that holds the change, below the top; empty at the top."""
    repository: str
    """The git directory of the person's repository, which all of its worktrees share."""
    branch: str
    """The branch of the person's repository on which the work ends."""
    base: str
    """The commit from which the work started."""
    sandboxed: bool = False
    """Whether agents, gates and Spool's own git are fenced in there."""

    @property
    def root(self) -> str:
        """The directory that holds the change."""
        return f"{self.path.rstrip('/')}/{self.inside}".rstrip("/")


def branch_of_change(change_id: str) -> str:
    """Return the branch on which the work on a change ends, unless it has another one already."""
    return f"change/{change_id}"
