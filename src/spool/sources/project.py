"""Finds the project around a directory and reads its changes."""

import re
from collections.abc import Iterator
from pathlib import Path

from spool.domain.change.change import (
    Change,
    ChangeInfo,
    check_id,
    is_id,
    matching,
    module_of,
    resolve,
    same_module,
)
from spool.domain.change.front_matter import split
from spool.domain.change.plan_file.ids import plan_path
from spool.domain.change.tasks import parse_tasks
from spool.domain.loop.summary import STATE
from spool.errors import ChangeError, Hint, UsageError
from spool.nofollow import Linked, Unreadable, folder_names, read_file

_SOURCES = {".spool": ".spool/changes", "openspec": "openspec/changes"}
_SETTINGS = ".spool/config.toml"
_LARGEST_TEXT = 4 << 20
_DATED = re.compile(r"^\d{4}-\d{2}-\d{2}-")


class Project:
    """A directory with changes in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def state(self) -> Path:
        """The folder with the state of this project's loops."""
        return self.root / STATE

    def changes(self) -> list[ChangeInfo]:
        """Return the active changes of all sources, sorted by id; archived ones are left out."""
        found = {info.id: info for source in reversed(_SOURCES) for info in self._listed(source)}
        return [found[change_id] for change_id in sorted(found)]

    def resolve(self, query: str) -> str:
        """Return the full id of the active change that matches a query."""
        active = [info.id for info in self.changes()]
        self._refuse_linked(check_id(query))
        if not matching(query, active) and (plan := plan_path(query)) and (self.root / plan).is_file():
            return query
        archived = [] if matching(check_id(query), active) else self._archived(query)
        if archived:
            raise UsageError(
                f"change '{query}' is archived as {archived[0].relative_to(self.root)}",
                hint=f"active changes: {', '.join(active) or 'none'}",
            )
        return resolve(query, active)

    def is_archived(self, query: str) -> bool:
        """Whether a change with this name is archived."""
        return is_id(query) and bool(self._archived(query))

    def _archived(self, query: str) -> list[Path]:
        """Return archived changes with this name, which OpenSpec prefixes with a date."""
        folders = [self.root / where / "archive" for where in _SOURCES.values()]
        paths = [folder / name for folder in folders for name in names_in(folder) if (folder / name).is_dir()]
        return [path for path in paths if matching(query, [_DATED.sub("", path.name)])]

    def archived(self) -> list[str]:
        """Return the ids of the archived changes, without the date in front."""
        folders = [self.root / where / "archive" for where in _SOURCES.values()]
        return [_DATED.sub("", name) for folder in folders for name in names_in(folder)]

    def modules(self) -> list[str]:
        """Return the names of the modules' folders."""
        return names_in(self.root / ".spool" / "modules")

    def _refuse_linked(self, change_id: str) -> None:
        """Refuse a change whose folder is a link; lists leave it out."""
        for folder in (self.root / where for where in _SOURCES.values()):
            for name in names_in(folder):
                if (name == change_id or name.endswith(f"_{change_id}")) and (folder / name).is_symlink():
                    raise _linked(folder / name)

    def in_module(self, module: str) -> list[ChangeInfo]:
        """Return the active changes of a module."""
        return [info for info in self.changes() if same_module(module_of(info.id) or "", module)]

    def read(self, change_id: str) -> Change:
        """Read a change and its module from disk."""
        self._refuse_linked(check_id(change_id))
        if (plan := self._plan_of(change_id)) is not None:
            from spool.sources.plan_file import read_plan  # the reader of Markdown takes 30 ms to import

            return read_plan(self.root, plan)
        folder, source = self._folder(change_id)
        proposal = read_text(folder / "proposal.md")
        if proposal is None:
            raise ChangeError(f"change '{change_id}' has no proposal.md", hint=f"write {folder / 'proposal.md'} first")
        return self._change(change_id, folder, source, proposal)

    def _change(self, change_id: str, folder: Path, source: str, proposal: str) -> Change:
        module = module_of(change_id)
        return Change(
            id=change_id,
            source=source,
            directory=str(folder.relative_to(self.root)),
            proposal=proposal,
            tasks=read_text(folder / "tasks.md"),
            module=module,
            module_text=self._module_text(module) if module else "",
        )

    def _folder(self, change_id: str) -> tuple[Path, str]:
        for source, where in _SOURCES.items():
            folder = self.root / where / change_id
            if folder.is_dir():
                return folder, source
        raise ChangeError(f"change '{change_id}' no longer exists")

    def doubled(self, change_id: str) -> str:
        """Warn that two sources have a change with this id, and name the one read; empty if only one does."""
        names = _SOURCES.values() if is_id(change_id) else ()
        found = [f"{where}/{change_id}" for where in names if (self.root / where / change_id).is_dir()]
        return f"{found[1]} is not read: {found[0]} has the same id" if len(found) > 1 else ""

    def _listed(self, source: str) -> Iterator[ChangeInfo]:
        folder = self.root / _SOURCES[source]
        for path in (folder / name for name in names_in(folder)):
            if path.name == "archive" or not is_id(path.name) or not path.is_dir() or path.is_symlink():
                continue
            tasks = parse_tasks(read_text(path / "tasks.md") or "")
            yield ChangeInfo(
                id=path.name,
                source=source,
                title=_title(read_text(path / "proposal.md") or "", path.name),
                done=tasks.done_count,
                total=len(tasks.tasks),
            )

    def _plan_of(self, change_id: str) -> str | None:
        """Return the path of the plan file that an id means; None if it means a folder, or no plan."""
        if any((self.root / where / change_id).is_dir() for where in _SOURCES.values()):
            return None
        return plan_path(change_id)

    def paths_of(self, change_id: str) -> list[Path]:
        """Return the folders that hold a change and its module, or the plan file that is the change."""
        if (plan := self._plan_of(change_id)) is not None:
            return [self.root / plan]
        module = self._module_folder(module_of(change_id) or "")
        own = [self.root / where / change_id for where in _SOURCES.values()]
        return [path for path in (*own, module) if path is not None and path.is_dir()]

    def _module_text(self, module: str) -> str:
        folder = self._module_folder(module)
        return (read_text(folder / "module.md") or "") if folder else ""

    def _module_folder(self, module: str) -> Path | None:
        """Return a module's folder, which is named after its id, with or without a name."""
        folder = self.root / ".spool" / "modules"
        for path in (folder / name for name in names_in(folder)):
            if same_module(path.name.partition("_")[0], module):
                return path
        return None


class BareProject(Project):
    """A working tree whose change may have no files: a task is enough."""

    def read(self, change_id: str) -> Change:
        """Read the files of the change with the same id, or the same slug after a number, if any.

        Without a folder, use a tasks.md at the top: the working tree is for this change alone.
        """
        self._refuse_linked(change_id)
        found = [info.id for info in self.changes() if info.id == change_id or info.id.endswith(f"_{change_id}")]
        if not found:
            tasks, module = read_text(self.root / "tasks.md"), module_of(change_id)
            return Change(id=change_id, source="", directory=".", proposal="", tasks=tasks, module=module)
        folder, source = self._folder(found[0])
        return self._change(change_id, folder, source, read_text(folder / "proposal.md") or "")


def bare_project(root: Path) -> BareProject:
    """Return the project of one working tree, with or without changes."""
    _refuse_links(root)
    return BareProject(root)


def project_at(root: Path) -> Project:
    """Return the project at a directory."""
    _refuse_links(root)
    return Project(root)


def find_project(start: Path) -> Project:
    """Return the nearest project at or above a directory; settings alone make one only inside of a repository."""
    inside = True
    for root in (start, *start.parents):
        if any((root / where).is_dir() for where in _SOURCES.values()) or (inside and (root / _SETTINGS).is_file()):
            return project_at(root)
        inside = inside and not (root / ".git").exists()
    where = " or ".join(f"{folder}/" for folder in _SOURCES.values())
    raise UsageError(f"no changes found: no {where} in {start} or its parent directories", hint=Hint.NO_CHANGES)


def _refuse_links(root: Path) -> None:
    """Refuse links in place of Spool's folders: state would be written, and prompts read, outside the project."""
    for name in (".spool", STATE, ".spool/changes", ".spool/modules", "openspec", "openspec/changes"):
        if (root / name).is_symlink():
            raise _linked(root / name)


def _linked(path: Path) -> UsageError:
    return UsageError(f"{path} is a link", hint="Spool does not follow links there: put the folder or file itself")


def names_in(folder: Path) -> list[str]:
    """Return the sorted names in a folder; none without one."""
    try:
        return folder_names(folder)
    except Linked as error:
        raise UsageError(str(error.strerror)) from None


def read_text(path: Path) -> str | None:
    """Return a text file's content; None if it does not exist. Refuse special and huge files."""
    try:
        return read_file(path, most_bytes=_LARGEST_TEXT).decode("utf-8", "replace").removeprefix("\ufeff")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Unreadable as error:
        raise UsageError(str(error.strerror)) from None


def _title(proposal: str, fallback: str) -> str:
    for line in split(proposal)[1].splitlines():
        if line.startswith("# "):
            return line[2:].strip().removeprefix("Change:").strip() or fallback
    return fallback
