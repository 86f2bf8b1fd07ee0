"""Reads changes that are folders: proposal.md, tasks.md and specs, in one folder of the project."""

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from spool.domain.change.change import Change, is_id, module_of, same_module
from spool.domain.change.story import parse_scenarios
from spool.errors import ChangeError
from spool.sources.source import Acceptance, FormatTool, names_in, read_text

ARCHIVE = "archive"
_MODULES = ".spool/modules"
_DATED = re.compile(r"^\d{4}-\d{2}-\d{2}-")


class ChangeFolders(msgspec.Struct, frozen=True):
    """A source of changes, each a folder."""

    kind: str
    where: str
    """The folder of the active changes, below the project."""
    label: str = "Spool"
    tool: FormatTool | None = None
    numbered: bool = True
    """Whether new ids are numbered by module."""

    @property
    def home(self) -> str:
        """The top folder of the format."""
        return self.where.partition("/")[0]

    def find(self, root: Path) -> Iterable[str]:
        """Return the ids of the active changes."""
        folder = root / self.where
        paths = (folder / name for name in names_in(folder) if name != ARCHIVE and is_id(name))
        return [path.name for path in paths if path.is_dir() and not path.is_symlink()]

    def holds(self, root: Path, change_id: str) -> bool:
        """Whether there is a folder with this name."""
        return is_id(change_id) and (root / self.where / change_id).is_dir()

    def archived(self, root: Path) -> dict[str, Path]:
        """Return the folders of archived changes by id, without the date in front."""
        folder = root / self.where / ARCHIVE
        return {_DATED.sub("", name): folder / name for name in names_in(folder) if (folder / name).is_dir()}

    def read(self, root: Path, change_id: str, *, proposal: str | None = None) -> Change:
        """Read a change; `proposal` stands for a proposal.md that is missing."""
        folder = root / self.where / change_id
        text = read_text(folder / "proposal.md")
        if text is None and proposal is None:
            raise ChangeError(f"change '{change_id}' has no proposal.md", hint=f"write {folder / 'proposal.md'} first")
        module = module_of(change_id)
        return Change(
            id=change_id,
            source=self.kind,
            directory=str(folder.relative_to(root)),
            proposal=text if text is not None else proposal or "",
            tasks=read_text(folder / "tasks.md"),
            module=module,
            module_text=module_text(root, module) if module else "",
            scenarios=tuple(_scenarios(folder / "specs")),
        )

    def paths(self, root: Path, change_id: str) -> list[Path]:
        """Return the folders of a change and its module."""
        own, module = root / self.where / change_id, module_folder(root, module_of(change_id) or "")
        return [path for path in (own, module) if path is not None and path.is_dir()]

    def record(self, text: str, accepted: Acceptance) -> str:  # noqa: ARG002 - the agent ticks the boxes
        """Return the text unchanged."""
        return text


OWN = ChangeFolders(".spool", ".spool/changes")


def _scenarios(folder: Path) -> Iterable[str]:
    """Yield the scenarios of a change's specs, in order; specs may be nested."""
    for name in names_in(folder):
        path = folder / name
        if name == "spec.md":
            yield from parse_scenarios(read_text(path) or "")
        elif path.is_dir() and not path.is_symlink():
            yield from _scenarios(path)


def modules_in(root: Path) -> list[str]:
    """Return the names of the modules' folders."""
    return names_in(root / _MODULES)


def module_folder(root: Path, module: str) -> Path | None:
    """Return a module's folder, which is named after its id, with or without a name."""
    names = (name for name in modules_in(root) if same_module(name.partition("_")[0], module))
    return next((root / _MODULES / name for name in names), None)


def module_text(root: Path, module: str) -> str:
    """Return what a module says of itself."""
    folder = module_folder(root, module)
    return (read_text(folder / "module.md") or "") if folder else ""
