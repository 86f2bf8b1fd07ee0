"""Finds a worktree loop by name, path or directory. Imports little, to keep `wt-loop status` fast."""

from pathlib import Path

from spool.app.loops.loop_list import loop_at, matching, no_loop
from spool.app.loops.reach import Reach, reach_of
from spool.domain.change.change import check_id
from spool.domain.loop.summary import LoopKind, LoopSummary
from spool.domain.text.plain_text import one_line
from spool.errors import Hint, NoWorktree, StateError, UsageError
from spool.host.git.pointers import top_of
from spool.host.state.loop_files import read_loop_file
from spool.host.state.run_registry import this_machine


def locate(name: str | None, path: str | None = None, *, everywhere: bool = False) -> LoopSummary:
    """Return a loop by its change in this repository, its id, its worktree or the current directory."""
    if path is not None:
        return _at(Path(path).resolve(), name)
    if name is None:
        if (found := loop_here()) is None:
            raise UsageError("no loop in this directory", hint=Hint.NAME_WORKTREE_LOOP)
        return found
    reach = reach_of(everywhere=everywhere)
    roots = _roots(name, reach)
    if len(roots) > 1:
        listed = "".join(f"\n    {root}" for root in roots)
        raise UsageError(f"'{name}' has loops in more than one worktree:{listed}", hint=Hint.CHOOSE_PATH)
    return _at(roots[0] if roots else _resolved(name, reach), name)


def loop_here() -> LoopSummary | None:
    """Return the loop of the working tree that contains the current directory, if any."""
    top = top_of(Path.cwd())
    return _loop_of(top) if top else None


def _loop_of(root: Path) -> LoopSummary | None:
    """Return the loop of a worktree; its loop file names the change."""
    file = read_loop_file(root)
    if file is None:
        return None
    # The registry still has a loop whose state folder was deleted.
    loop = loop_at(root, LoopKind.WORKTREE, file.change_id) or this_machine().find(file.run_id)
    if loop is None:
        raise StateError(f"the state of '{file.change_id}' in {root} is gone")
    return loop


def _at(start: Path, name: str | None) -> LoopSummary:
    root = top_of(start) or start
    loop = _loop_of(root)
    if loop is None:
        what = f"on '{one_line(name, 60)}' " if name else ""
        raise UsageError(f"no loop {what}has run in {root}", hint=Hint.START_WORKTREE_LOOP)
    return loop


def _roots(name: str, reach: Reach) -> list[Path]:
    """Return the worktrees of matching loops: running ones, else the latest."""
    loops = [loop for loop in matching(name, this_machine().runs(), reach) if loop.door is LoopKind.WORKTREE]
    candidates = reach.closest([loop for loop in loops if loop.running] or loops[-1:])
    roots = list(dict.fromkeys(Path(loop.worktree) for loop in candidates))
    return [root for root in roots if root.is_dir()]


def _resolved(name: str, reach: Reach) -> Path:
    from spool.app.changes.change_names import change_meant
    from spool.host.git.checkouts import find_checkout  # runs git

    here = Path(reach.here)
    try:
        change = change_meant(check_id(name), here=here)
        return Path(find_checkout(change, here=here, projects=known_projects() if reach.everywhere else None).path)
    except NoWorktree:
        raise no_loop(name, this_machine().runs(), reach) from None


def known_projects() -> list[Path]:
    """Return the main directories of the projects with registered loops."""
    return [Path(loop.project) for loop in this_machine().runs()]
