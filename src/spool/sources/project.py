"""Finds the project around a directory and reads its changes."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.change.change import (
    Change,
    ChangeInfo,
    check_id,
    is_id,
    matching,
    module_of,
    same_module,
)
from spool.domain.change.front_matter import split
from spool.domain.change.plan_file.ids import plan_path, shown
from spool.domain.change.tasks import parse_tasks
from spool.domain.loop.summary import STATE
from spool.errors import ChangeError, Hint, SpoolError, UsageError
from spool.sources.change_folders import ChangeFolders, modules_in
from spool.sources.registry import FILES, FOLDERS, SOURCES
from spool.sources.source import Source, linked, names_in, read_text

_SETTINGS = ".spool/config.toml"


class Project:
    """A directory with changes in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def state(self) -> Path:
        """The folder with the state of this project's loops."""
        return self.root / STATE

    def changes(self) -> list[ChangeInfo]:
        """Return the active changes that are folders, sorted by id; archived ones are left out."""
        found = {info.id: info for source in reversed(FOLDERS) for info in self._listed(source)}
        return [found[change_id] for change_id in sorted(found)]

    def archived_as(self, query: str) -> Path | None:
        """Return the folder of an archived change with this name."""
        found = [pair for source in FOLDERS for pair in source.archived(self.root).items() if is_id(query)]
        return next((path for change_id, path in found if matching(query, [change_id])), None)

    def archived(self) -> list[str]:
        """Return the ids of the archived changes, without the date in front."""
        return [change_id for source in FOLDERS for change_id in source.archived(self.root)]

    def modules(self) -> list[str]:
        """Return the names of the modules' folders."""
        return modules_in(self.root)

    def refuse_linked(self, change_id: str) -> None:
        """Refuse a change whose folder is a link; lists leave it out."""
        for folder in (self.root / source.where for source in FOLDERS):
            for name in names_in(folder):
                if (name == change_id or name.endswith(f"_{change_id}")) and (folder / name).is_symlink():
                    raise linked(folder / name)

    def plans(self) -> list[ChangeInfo]:
        """Return the plans in the usual places, and those that were run here, each with its title."""
        ids = [change_id for source in FILES for change_id in source.find(self.root)]
        doors = [self.state / door for door in names_in(self.state)]
        ids += [name for door in doors if door.is_dir() for name in names_in(door) if plan_path(name)]
        found = []
        for change_id in dict.fromkeys(filter(is_id, ids)):
            with suppress(SpoolError):
                read = self.read(change_id)
                boxes = read.boxes.boxes
                title = read.boxes.title or shown(change_id)
                found.append(ChangeInfo(change_id, read.source, title, boxes.done, boxes.total))
        return found

    def in_module(self, module: str) -> list[ChangeInfo]:
        """Return the active changes of a module."""
        return [info for info in self.changes() if same_module(module_of(info.id) or "", module)]

    def source_of(self, change_id: str) -> Source:
        """Return the format that an id means; a folder of the same name comes first."""
        for source in SOURCES:
            if source.holds(self.root, change_id):
                return source
        raise ChangeError(f"change '{change_id}' no longer exists")

    def read(self, change_id: str) -> Change:
        """Read a change and its module from disk."""
        self.refuse_linked(check_id(change_id))
        return self.source_of(change_id).read(self.root, change_id)

    def doubled(self, change_id: str) -> str:
        """Warn that two sources have a change with this id, and name the one read; empty if only one does."""
        found = [f"{source.where}/{change_id}" for source in FOLDERS if source.holds(self.root, change_id)]
        return f"{found[1]} is not read: {found[0]} has the same id" if len(found) > 1 else ""

    def _listed(self, source: ChangeFolders) -> Iterator[ChangeInfo]:
        for change_id in source.find(self.root):
            path = self.root / source.where / change_id
            tasks = parse_tasks(read_text(path / "tasks.md") or "")
            yield ChangeInfo(
                id=change_id,
                source=source.kind,
                title=_title(read_text(path / "proposal.md") or "", change_id),
                done=tasks.done_count,
                total=len(tasks.tasks),
            )

    def paths_of(self, change_id: str) -> list[Path]:
        """Return the folders that hold a change and its module, or the plan file that is the change."""
        folders = [source for source in FOLDERS if source.holds(self.root, change_id)]
        files = [source for source in FILES if source.holds(self.root, change_id)]
        holders = folders or files[:1] or FOLDERS[:1]
        found = [path for source in holders for path in source.paths(self.root, change_id)]
        return list(dict.fromkeys(found))


class BareProject(Project):
    """A working tree whose change may have no files: a task is enough."""

    def read(self, change_id: str) -> Change:
        """Read the files of the change with the same id, or the same slug after a number, if any.

        Without a folder, use a tasks.md at the top: the working tree is for this change alone.
        """
        self.refuse_linked(change_id)
        for source in FOLDERS:
            for found in source.find(self.root):
                if found == change_id or found.endswith(f"_{change_id}"):
                    return msgspec.structs.replace(source.read(self.root, found, proposal=""), id=change_id)
        tasks, module = read_text(self.root / "tasks.md"), module_of(change_id)
        return Change(id=change_id, source="", directory=".", proposal="", tasks=tasks, module=module)


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
        if any((root / one.where).is_dir() for one in FOLDERS) or (inside and (root / _SETTINGS).is_file()):
            return project_at(root)
        inside = inside and not (root / ".git").exists()
    where = " or ".join(f"{one.where}/" for one in FOLDERS)
    raise UsageError(f"no changes found: no {where} in {start} or its parent directories", hint=Hint.NO_CHANGES)


def _refuse_links(root: Path) -> None:
    """Refuse links in place of Spool's folders: state would be written, and prompts read, outside the project."""
    folders = [name for one in FOLDERS for name in (one.home, one.where)]
    for name in (STATE, ".spool/modules", *folders):
        if (root / name).is_symlink():
            raise linked(root / name)


def _title(proposal: str, fallback: str) -> str:
    for line in split(proposal)[1].splitlines():
        if line.startswith("# "):
            return line[2:].strip().removeprefix("Change:").strip() or fallback
    return fallback
