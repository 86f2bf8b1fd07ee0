"""Finds a worktree loop by name, path or directory. Imports little, to keep `wt-loop status` fast."""

from pathlib import Path

from spool.app.loops import loop_at, matching
from spool.domain.change import check_id
from spool.domain.loop import Door, LoopSummary
from spool.domain.text import one_line
from spool.errors import Hint, NoWorktree, StateError, UsageError
from spool.host.state.loop_files import read_loop_file
from spool.host.state.registry import this_machine


def locate(name: str | None, path: str | None = None) -> LoopSummary:
    """Return a loop by its change, its worktree or the current directory."""
    if path is not None:
        return _at(Path(path).resolve(), name)
    if name is None:
        if (found := loop_here()) is None:
            raise UsageError("no loop in this directory", hint=Hint.NAME_WORKTREE_LOOP)
        return found
    roots = _roots(name)
    if len(roots) > 1:
        listed = "".join(f"\n    {root}" for root in roots)
        raise UsageError(f"'{name}' has loops in more than one worktree:{listed}", hint=Hint.CHOOSE_PATH)
    return _at(roots[0] if roots else _resolved(name), name)


def loop_here() -> LoopSummary | None:
    """Return the loop of the working tree that contains the current directory, if any."""
    top = _top(Path.cwd())
    return _loop_of(top) if top else None


def _loop_of(root: Path) -> LoopSummary | None:
    """Return the loop of a worktree; its loop file names the change."""
    file = read_loop_file(root)
    if file is None:
        return None
    # The registry still has a loop whose state folder was deleted.
    loop = loop_at(root, Door.WORKTREE, file.change_id) or this_machine().find(file.run_id)
    if loop is None:
        raise StateError(f"the state of '{file.change_id}' in {root} is gone")
    return loop


def _at(start: Path, name: str | None) -> LoopSummary:
    root = _top(start) or start
    loop = _loop_of(root)
    if loop is None:
        what = f"on '{one_line(name, 60)}' " if name else ""
        raise UsageError(f"no loop {what}has run in {root}", hint=Hint.START_WORKTREE_LOOP)
    return loop


def _roots(name: str) -> list[Path]:
    """Return the worktrees of matching loops: running ones, else the latest; only this repository's, if it has any."""
    loops = [loop for loop in matching(name, this_machine().runs()) if loop.door is Door.WORKTREE]
    candidates = [loop for loop in loops if loop.running] or loops[-1:]
    top = _top(Path.cwd())
    near = [loop for loop in candidates if top and top in (Path(loop.worktree), Path(loop.project))]
    roots = list(dict.fromkeys(Path(loop.worktree) for loop in near or candidates))
    return [root for root in roots if root.is_dir()]


def _resolved(name: str) -> Path:
    from spool.host.git.checkouts import find_checkout  # runs git

    try:
        return Path(find_checkout(check_id(name), here=Path.cwd(), projects=known_projects()).path)
    except NoWorktree as error:
        raise UsageError(str(error), hint=Hint.START_WORKTREE_LOOP) from None


def known_projects() -> list[Path]:
    """Return the main directories of the projects with registered loops."""
    return [Path(loop.project) for loop in this_machine().runs()]


def _top(start: Path) -> Path | None:
    """Return the working tree that contains a directory, found by its `.git` without running git."""
    return next((root for root in (start, *start.parents) if (root / ".git").exists()), None)
