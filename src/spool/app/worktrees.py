"""Loops of `wt-loop`: which worktree a change means, what starts a loop there, and which loop a person means."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from spool.app.build import find_harness
from spool.app.loops import loop_at, matching
from spool.app.runner import new_run_id
from spool.app.settings import load_settings, resolve_settings
from spool.domain.change import check_id
from spool.domain.checkout import Checkout
from spool.domain.criteria import Criterion, bounds_for
from spool.domain.loop import Door, LoopSummary
from spool.domain.settings import Resolved
from spool.domain.spec import LoopSpec
from spool.domain.text import one_line
from spool.errors import Hint, LockedError, NoWorktree, StateError, UsageError
from spool.host.git.checkouts import checkout_at, common_dir, find_checkout, make_checkout
from spool.host.state.loop_files import LOG, hide_own_files, read_loop_file, refuse_links
from spool.host.state.registry import this_machine
from spool.host.state.specs import kept_spec
from spool.sources.project import bare_project


def checkout_of(change: str, *, path: str | None, create: bool, announce: Callable[[Checkout], None]) -> Checkout:
    """Return the worktree of a change, made if there is none and `create` asks for it."""
    if path is not None:
        return checkout_at(Path(path))
    here = Path.cwd()
    try:
        return find_checkout(change, here=here, projects=_projects())
    except NoWorktree:
        if not create:
            raise
    settings = load_settings(here, {})
    made = make_checkout(change, here=here, copy=settings.worktree_copy, setup=settings.worktree_setup)
    announce(made)
    return made


def worktree_settings(root: Path, flags: Mapping[str, Any], *, flag: Callable[[str], str]) -> Resolved:
    """Return the settings of a worktree; where nobody chose an agent, it is Claude Code."""
    resolved = resolve_settings(root, flags, flag=flag)
    if resolved.origins["harness"] != "default":
        return resolved
    return msgspec.structs.replace(resolved, settings=msgspec.structs.replace(resolved.settings, harness="claude"))


def task_spec(
    root: Path,
    change: str,
    task: str,
    resolved: Resolved,
    *,
    criterion: Criterion,
    done_command: str = "",
    max_iterations: int | None = None,
    stall: int | None = None,
) -> LoopSpec:
    """Return what starts a loop over a task in a worktree."""
    chosen = resolved.origins["max_iterations"] != "default"
    limit, stall = bounds_for(
        criterion,
        max_iterations=max_iterations,
        configured=resolved.settings.max_iterations if chosen else None,
        stall=stall,
        stall_default=resolved.settings.stall_iterations,
    )
    settings = msgspec.structs.replace(resolved.settings, max_iterations=limit or 0, stall_iterations=stall)
    return LoopSpec(
        run_id=new_run_id(),
        door=Door.WORKTREE,
        change=change,
        root=str(root),
        settings=settings,
        task=task,
        criterion=criterion,
        done_command=done_command,
        fresh=True,
        log=str(root / LOG),
    )


def resumed_spec(loop: LoopSummary, changed: Mapping[str, Any]) -> LoopSpec:
    """Return what continues a loop: as it was started, but for the settings that are given now."""
    spec = kept_spec(loop.folder)
    if spec is None:
        raise UsageError(f"there is no loop on '{loop.change}' to continue", hint=Hint.START_WORKTREE_LOOP)
    settings = msgspec.structs.replace(spec.settings, **changed)
    return msgspec.structs.replace(spec, run_id=new_run_id(), root=loop.root, settings=settings, fresh=False)


def refuse_early(spec: LoopSpec) -> None:
    """Refuse before a window opens what the runner would refuse in it, and hide our files from git."""
    root = Path(spec.root)
    bare_project(root)
    refuse_links(root)
    read_loop_file(root)
    find_harness(spec.settings)
    for other in this_machine().running():
        if Path(other.worktree).resolve() == root.resolve():
            raise LockedError(
                f"a loop on '{other.change}' is already running in {other.worktree} "
                f"(pid {other.runner.pid}, since {other.started_at:%H:%M:%S} UTC)",
                door=other.door,
                change=other.change,
            )
    hide_own_files(common_dir(root))


def locate(name: str | None, path: str | None = None) -> LoopSummary:
    """Return the loop that is meant: by its change, by its worktree, or by the current directory."""
    if path is not None:
        return _at(Path(path).resolve(), name)
    if name is None:
        if (found := loop_here()) is None:
            raise UsageError("there is no loop in this directory", hint=Hint.NAME_WORKTREE_LOOP)
        return found
    roots = _roots(name)
    if len(roots) > 1:
        listed = "".join(f"\n    {root}" for root in roots)
        raise UsageError(f"'{name}' has loops in more than one worktree:{listed}", hint=Hint.CHOOSE_PATH)
    return _at(roots[0] if roots else _resolved(name), name)


def loop_here() -> LoopSummary | None:
    """Return the loop of the working tree around the current directory, if it has one."""
    top = _top(Path.cwd())
    return _loop_of(top) if top else None


def _loop_of(root: Path) -> LoopSummary | None:
    """Return the loop of a worktree: its file for other tools names the change."""
    file = read_loop_file(root)
    if file is None:
        return None
    # The registry remembers a loop whose state folder somebody has cleaned away.
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
    """Return the worktrees in which such a loop ran: where one runs now, else near here, else the latest."""
    loops = [loop for loop in matching(name, this_machine().runs()) if loop.door is Door.WORKTREE]
    candidates = [loop for loop in loops if loop.running] or loops[-1:]
    top = _top(Path.cwd())
    near = [loop for loop in candidates if top and top in (Path(loop.worktree), Path(loop.project))]
    roots = list(dict.fromkeys(Path(loop.worktree) for loop in near or candidates))
    return [root for root in roots if root.is_dir()]


def _resolved(name: str) -> Path:
    return Path(find_checkout(check_id(name), here=Path.cwd(), projects=_projects()).path)


def _projects() -> list[Path]:
    return [Path(loop.project) for loop in this_machine().runs()]


def _top(start: Path) -> Path | None:
    """Return the working tree around a directory, found by its `.git` without asking git."""
    return next((root for root in (start, *start.parents) if (root / ".git").exists()), None)
