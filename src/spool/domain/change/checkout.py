"""Matches working trees to change ids, by branch or by directory name."""

import msgspec

from spool.domain.change.change import is_id
from spool.domain.change.workspaces import branch_of_change


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """A working tree of a repository."""

    path: str
    branch: str | None = None
    repository: str
    """The repository's name."""
    is_main: bool = False


def branches_for(change_id: str) -> tuple[str, ...]:
    """Return the possible branches of a change, the usual one first."""
    return branch_of_change(change_id), change_id, f"feature/{change_id}"


def id_of(branch: str) -> str:
    """Return the change of a branch by its name; empty for a branch that does not name one."""
    prefix, _, change_id = branch.partition("/")
    return change_id if prefix in ("change", "feature") and is_id(change_id) else ""


def change_of(checkout: Checkout) -> str:
    """Return the change of a working tree, by its branch, else by the name that Spool gives to new ones; else empty."""
    name = checkout.path.rstrip("/").rpartition("/")[2]
    start = folders_for("", checkout.repository)[0]
    named = name.removeprefix(start) if name.startswith(start) else ""
    return id_of(checkout.branch or "") or (named if is_id(named) else "")


def folders_for(change_id: str, repository: str) -> tuple[str, ...]:
    """Return the possible directory names of a change, the default for new ones first."""
    return f"{repository}-wt-{change_id}", f"{repository}-{change_id}", change_id


def gives(checkout: Checkout, change_id: str) -> bool:
    """Whether a working tree belongs to a change. The main one only by branch: its name is the project's."""
    if checkout.branch in branches_for(change_id):
        return True
    name = checkout.path.rstrip("/").rpartition("/")[2]
    return not checkout.is_main and name in folders_for(change_id, checkout.repository)
