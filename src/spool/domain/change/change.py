"""Changes, the written units of work, and how to name one."""

import re
from collections.abc import Iterable

import msgspec

from spool.domain.change.plan_file.ids import shown
from spool.domain.change.story import StoryList, stories_of
from spool.domain.change.tasks import TaskList, parse_tasks
from spool.domain.text.plain_text import one_line
from spool.errors import Hint, UsageError

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_NUMBERED = re.compile(r"(\d+)-(\d+)(?:_(.+))?")


class ChangeInfo(msgspec.Struct, frozen=True):
    """A change as a list shows it."""

    id: str
    source: str
    title: str = ""
    done: int = 0
    total: int = 0

    @property
    def name(self) -> str:
        """As a person names it: a plan by its path."""
        return shown(self.id)


class Change(msgspec.Struct, frozen=True):
    """The current texts of a change; reread for each iteration."""

    id: str
    source: str
    directory: str
    proposal: str
    tasks: str | None = None
    module: str | None = None
    module_text: str = ""
    plan_file: str = ""
    """The path of the plan file that is the whole change; empty if the change is a folder."""
    scenarios: tuple[str, ...] = ()
    """The scenarios of its specs, in order."""
    context: str = ""
    """The documents beside a plan, for the prompt."""
    listed: TaskList | None = None
    """The tasks as another format has them; None if `tasks` is what a person wrote."""

    @property
    def boxes(self) -> TaskList:
        """Its tasks, in order."""
        return parse_tasks(self.tasks or "") if self.listed is None else self.listed

    @property
    def stories(self) -> StoryList:
        """Its tasks by story."""
        return stories_of(self.boxes)

    @property
    def own(self) -> str:
        """The start of the paths of its own files, which are not the work; empty without any."""
        return self.plan_file or (f"{self.directory}/" if self.directory else "")

    @property
    def task_file(self) -> str:
        """The path of the file with the tasks."""
        return self.plan_file or f"{self.directory}/tasks.md"


class Missed(msgspec.Struct, frozen=True):
    """Words that do not mean one thing."""

    what: str
    hint: str

    @property
    def error(self) -> UsageError:
        """The error for a command that needs it."""
        return UsageError(self.what, hint=self.hint)


class Ambiguous(Missed, frozen=True):
    """Words that mean several."""


class Nothing(Missed, frozen=True):
    """Words that mean nothing that is known; the hint suggests what may be meant."""


def is_id(name: str) -> bool:
    """Whether a name can safely name a change's directory."""
    return _SAFE_ID.fullmatch(name) is not None


def check_id(change_id: str) -> str:
    """Return the id if it can safely name a directory; call this before touching the disk."""
    if not is_id(change_id):
        raise UsageError(
            f"'{one_line(change_id, 60)}' is not a change id",
            hint="an id has letters, digits, '.', '_' and '-', for example 002-01_add-ralph-loop",
        )
    return change_id


def module_of(change_id: str) -> str | None:
    """Return the module of a numbered change: `002` for `002-01_add-ralph-loop`."""
    numbered = _NUMBERED.fullmatch(change_id)
    return numbered[1] if numbered else None


def same_module(left: str, right: str) -> bool:
    """Whether two module ids mean the same module: `2` is `002`."""
    return left == right or (left.isdigit() and right.isdigit() and int(left) == int(right))


def matching(query: str, ids: Iterable[str]) -> list[str]:
    """Return the ids that match a query: exactly, else by number, by slug, or by the start of either."""
    known = sorted(ids)
    if query in known:
        return [query]
    for rule in (_same_number, _same_slug, str.startswith, _slug_starts):
        found = [one for one in known if rule(one, query)]
        if found:
            return found
    return []


def choose(query: str, ids: Iterable[str]) -> "str | Ambiguous | Nothing":
    """Return the only id that matches the query, or why there is none."""
    known = sorted(ids)
    found = matching(query, known)
    if len(found) == 1:
        return found[0]
    if found:
        return Ambiguous(f"'{query}' is ambiguous: {', '.join(found)}", "give more of the id")
    if not known:
        return Nothing(f"no such change: '{query}'; this project has no active changes", Hint.NO_CHANGES)
    return Nothing(f"no such change: '{query}'", f"active changes: {', '.join(known)}")


def resolve(query: str, ids: Iterable[str]) -> str:
    """Return the only id that matches the query, or raise a UsageError that lists the candidates."""
    found = choose(check_id(query), ids)
    if isinstance(found, str):
        return found
    raise found.error


def _same_number(change_id: str, query: str) -> bool:
    wanted, numbered = _NUMBERED.fullmatch(query), _NUMBERED.fullmatch(change_id)
    if not wanted or not numbered or wanted[3]:
        return False
    return (int(wanted[1]), int(wanted[2])) == (int(numbered[1]), int(numbered[2]))


def _slug(change_id: str) -> str:
    numbered = _NUMBERED.fullmatch(change_id)
    return (numbered[3] or "") if numbered else change_id


def _same_slug(change_id: str, query: str) -> bool:
    return _slug(change_id) == query


def _slug_starts(change_id: str, query: str) -> bool:
    return _slug(change_id).startswith(query)
