"""The place of a loop's work: the current tree, a git worktree, or a clone."""

from enum import StrEnum

import msgspec

_FLEET = "fleet:"


class Kind(StrEnum):
    """The kinds of workspaces."""

    HERE = "here"
    WORKTREE = "worktree"
    CLONE = "clone"


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """A working tree other than the one that holds a loop's state."""

    kind: Kind
    id: str = ""
    """Distinguishes it from one that is made later at the same place."""
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
    """Whether agents, gates and Spool's own git are sandboxed there."""

    @property
    def root(self) -> str:
        """The directory that holds the change."""
        return f"{self.path.rstrip('/')}/{self.inside}".rstrip("/")

    @property
    def fleet_id(self) -> str:
        """The id in the fleet of the change that it is for; empty if no worker made it."""
        return self.id.removeprefix(_FLEET).rpartition(":")[0] if self.id.startswith(_FLEET) else ""


def workspace_in_fleet(fleet_id: str, run_id: str) -> str:
    """Return the id of the workspace of a change in the fleet, the same on all hosts."""
    return f"{_FLEET}{fleet_id}:{run_id}"


def branch_of_change(change_id: str) -> str:
    """Return the branch on which the work on a change ends, unless it has another one already."""
    return f"change/{change_id}"
