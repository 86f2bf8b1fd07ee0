"""Finds the loop that a person means: by its change, by its worktree, or by where they stand. Loads little."""

from dataclasses import dataclass
from pathlib import Path

from spool.cli.loops import matching
from spool.domain.loop_file import LoopFile
from spool.domain.text import one_line
from spool.errors import UsageError
from spool.host.state.loop_book import read_loop, told
from spool.host.state.registry import Entry, this_machine
from spool.sources.project import STATE

DOOR = "wt-loop"


@dataclass(frozen=True, kw_only=True)
class Located:
    """A loop in a worktree."""

    root: Path
    file: LoopFile

    @property
    def change_id(self) -> str:
        """The change that it works on."""
        return self.file.change_id

    @property
    def state(self) -> Path:
        """Its state folder."""
        return self.root / STATE / DOOR / self.file.change_id

    @property
    def entry(self) -> Entry | None:
        """Its last run, as the registry knows it."""
        return this_machine().find(self.file.run_id)


def locate(name: str | None, path: str | None = None) -> Located:
    """Return the loop that is meant, or say what there is."""
    if path is not None:
        return _at(Path(path).resolve(), name)
    if name is None:
        if (found := here()) is None:
            raise UsageError(
                "there is no loop in this directory", hint="name its change; wt-loop list --all tells them"
            )
        return found
    roots = _roots(name)
    if len(roots) > 1:
        listed = "".join(f"\n    {root}" for root in roots)
        raise UsageError(f"'{name}' has loops in more than one worktree:{listed}", hint="choose one with --path DIR")
    return _at(roots[0] if roots else _resolved(name), name)


def here() -> Located | None:
    """Return the loop of the working tree around the current directory, if it has one."""
    top = _top(Path.cwd())
    file = read_loop(top) if top else None
    return Located(root=top, file=told(file)) if top and file else None


def _at(start: Path, name: str | None) -> Located:
    root = _top(start) or start
    file = read_loop(root)
    if file is None:
        what = f"on '{one_line(name, 60)}' " if name else ""
        raise UsageError(f"no loop {what}has run in {root}", hint="wt-loop start begins one")
    return Located(root=root, file=told(file))


def _roots(name: str) -> list[Path]:
    """Return the worktrees in which such a loop ran: where one runs now, else near here, else the latest."""
    entries = [entry for entry in matching(name, this_machine().entries()) if entry.door == DOOR]
    candidates = [entry for entry in entries if entry.running] or entries[-1:]
    top = _top(Path.cwd())
    near = [entry for entry in candidates if top and top in (Path(entry.worktree), Path(entry.project))]
    roots = list(dict.fromkeys(Path(entry.worktree) for entry in near or candidates))
    return [root for root in roots if root.is_dir()]


def _resolved(name: str) -> Path:
    from spool.domain.change import check_id
    from spool.host.git.checkouts import find_checkout

    known = [Path(entry.project) for entry in this_machine().entries()]
    return Path(find_checkout(check_id(name), here=Path.cwd(), projects=known).path)


def _top(start: Path) -> Path | None:
    """Return the working tree around a directory; no git is asked, a `.git` of either kind tells it."""
    return next((root for root in (start, *start.parents) if (root / ".git").exists()), None)
