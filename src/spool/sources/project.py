"""Finds the project around a directory and reads its changes."""

import re
import stat
from collections.abc import Iterator
from pathlib import Path

from spool.domain.change import (
    NO_CHANGES_HINT,
    Change,
    ChangeInfo,
    check_id,
    is_id,
    matching,
    module_of,
    resolve,
    same_module,
)
from spool.domain.loop import STATE
from spool.domain.tasks import parse_tasks
from spool.errors import ChangeError, UsageError

_SOURCES = {".spool": ".spool/changes", "openspec": "openspec/changes"}
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
        archived = [] if matching(check_id(query), active) else self._archived(query)
        if archived:
            raise UsageError(
                f"change '{query}' is archived as {archived[0].relative_to(self.root)}",
                hint=f"active changes: {', '.join(active) or 'none'}",
            )
        return resolve(query, active)

    def _archived(self, query: str) -> list[Path]:
        """Return archived changes with this name, which OpenSpec prefixes with a date."""
        folders = [self.root / where / "archive" for where in _SOURCES.values()]
        paths = [path for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_dir()]
        return [path for path in paths if matching(query, [_DATED.sub("", path.name)])]

    def in_module(self, module: str) -> list[ChangeInfo]:
        """Return the active changes of a module."""
        return [info for info in self.changes() if same_module(module_of(info.id) or "", module)]

    def read(self, change_id: str) -> Change:
        """Read a change and its module from disk."""
        folder, source = self._folder(check_id(change_id))
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

    def _listed(self, source: str) -> Iterator[ChangeInfo]:
        folder = self.root / _SOURCES[source]
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            if path.name == "archive" or not is_id(path.name) or not path.is_dir():
                continue
            tasks = parse_tasks(read_text(path / "tasks.md") or "")
            yield ChangeInfo(
                id=path.name,
                source=source,
                title=_title(read_text(path / "proposal.md") or "", path.name),
                done=tasks.done_count,
                total=len(tasks.tasks),
            )

    def _module_text(self, module: str) -> str:
        """Return a module's text; its folder is named after its id, with or without a name."""
        folder = self.root / ".spool" / "modules"
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            if same_module(path.name.partition("_")[0], module):
                return read_text(path / "module.md") or ""
        return ""


class BareProject(Project):
    """A working tree whose change may have no files: a task is enough."""

    def read(self, change_id: str) -> Change:
        """Read the files of the change with the same id, or the same slug after a number, if any.

        Without a folder, use a tasks.md at the top: the working tree is for this change alone.
        """
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
    """Return the nearest project at or above a directory."""
    for root in (start, *start.parents):
        if any((root / where).is_dir() for where in _SOURCES.values()):
            return project_at(root)
    raise UsageError(f"no changes found in {start} or its parent directories", hint=NO_CHANGES_HINT)


def _refuse_links(root: Path) -> None:
    """Refuse a `.spool` or `.spool/.state` that is a link: state would be written outside the project."""
    for path in (root / ".spool", root / STATE):
        if path.is_symlink():
            raise UsageError(f"{path} is a link", hint="Spool writes its state there and does not follow links")


def read_text(path: Path) -> str | None:
    """Return a text file's content; None if it does not exist. Refuse special and huge files."""
    try:
        info = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(info.st_mode):
        raise UsageError(f"{path} is not a file")
    if info.st_size > _LARGEST_TEXT:
        raise UsageError(f"{path} is larger than {_LARGEST_TEXT >> 20} MiB")
    return path.read_text("utf-8", "replace").removeprefix("\ufeff")


def _title(proposal: str, fallback: str) -> str:
    for line in proposal.splitlines():
        if line.startswith("# "):
            return line[2:].strip().removeprefix("Change:").strip() or fallback
    return fallback
