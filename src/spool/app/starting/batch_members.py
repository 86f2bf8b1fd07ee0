"""Finds the changes of a batch, and in which order they run."""

from collections.abc import Sequence

from spool.domain.change.change import matching
from spool.domain.change.front_matter import names_of
from spool.domain.loop.start_order import Member, in_order
from spool.errors import ChangeError, Hint, UsageError
from spool.sources.project import Project

DEPENDS_ON = "depends_on"


def open_changes(project: Project, module: str | None) -> list[str]:
    """Return the changes with open boxes, of one module or of all."""
    infos = project.changes() if module is None else project.in_module(module)
    return [info.id for info in infos if info.done < info.total]


def read_members(project: Project, changes: Sequence[str]) -> list[Member]:
    """Return the changes in the order of their dependencies.

    What a change depends on must be among them, or closed: archived, or with all boxes ticked.
    """
    found = []
    for change in dict.fromkeys(changes):
        try:
            names = names_of(project.read(change).proposal, DEPENDS_ON)
        except ChangeError as error:
            raise ChangeError(f"{change}: {error}", hint=error.hint) from None
        known = [info.id for info in project.changes()] if names else []
        needed = [_resolved(project, change, name, known) for name in names]
        missing = [one for one in needed if one and one not in changes and not _is_closed(project, one)]
        if missing:
            raise UsageError(f"{change} depends on {missing[0]}, which is open", hint=Hint.NAME_DEPENDENCY)
        found.append(Member(change=change, depends_on=tuple(one for one in needed if one in changes)))
    return in_order(found)


def _resolved(project: Project, change: str, name: str, known: Sequence[str]) -> str:
    """Return the active change that a dependency means; empty if it is archived."""
    meant = matching(name, known)
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise UsageError(f"{change} depends on '{name}', which is ambiguous: {', '.join(meant)}")
    if project.archived_as(name) is None:
        raise UsageError(f"{change} depends on '{name}', which is not a change of this project")
    return ""


def _is_closed(project: Project, change: str) -> bool:
    tasks = project.read(change).boxes
    return bool(tasks.tasks) and not tasks.open
