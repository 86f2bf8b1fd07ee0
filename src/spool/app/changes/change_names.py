"""Resolves the change that a worktree command names; a written change, a worktree's branch or a task may define it."""

from pathlib import Path

from spool.domain.change.change import matching
from spool.domain.change.checkout import gives, id_of
from spool.errors import UsageError
from spool.host.git.checkouts import checkouts, registered
from spool.sources.project import Project


def change_meant(query: str, *, here: Path) -> str:
    """Return the change that a query means here: the one with a worktree of that name, else the one it shortens."""
    if any(gives(one, query) for one in checkouts(here)) or registered(query, here):
        return query
    found = matching(query, known_changes(here))
    if len(found) > 1:
        raise UsageError(f"'{query}' is ambiguous: {', '.join(found)}", hint="give more of the id")
    return found[0] if found else query


def known_changes(here: Path) -> set[str]:
    """Return the changes of a repository: written in one of its working trees, or with a worktree on their branch."""
    known = checkouts(here)
    roots = {here, *here.parents, *(Path(one.path) for one in known)}
    written = {info.id for root in roots for info in Project(root).changes()}
    return written | {id_of(one.branch) for one in known if one.branch and id_of(one.branch)}
