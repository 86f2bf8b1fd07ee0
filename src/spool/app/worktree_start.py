"""Prepares a worktree loop: finds the worktree, its settings and its spec, and checks them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from spool.app.build import find_harness
from spool.app.loops import folder_before
from spool.app.runner import new_run_id
from spool.app.settings import resolve_settings
from spool.app.worktrees import known_projects
from spool.domain.checkout import Checkout
from spool.domain.criteria import Criterion, bounds_for
from spool.domain.loop import Door, LoopSummary
from spool.domain.settings import OWN, Layer, Resolved, Settings, merge
from spool.domain.spec import LoopSpec
from spool.errors import Hint, LockedError, NoWorktree, UsageError
from spool.host.git.checkouts import checkout_at, common_dir, find_checkout, make_checkout
from spool.host.state.loop_files import LOG, hide_own_files, read_loop_file, refuse_links
from spool.host.state.registry import this_machine
from spool.host.state.specs import kept_spec
from spool.sources.project import bare_project


def checkout_of(
    change: str,
    *,
    path: str | None,
    create: bool,
    settings: Callable[[Path], Settings],
    announce: Callable[[Checkout], None],
) -> Checkout:
    """Return the worktree of a change; `create` makes a missing one with the trusted settings of this directory."""
    if path is not None:
        return checkout_at(Path(path))
    here = Path.cwd()
    try:
        return find_checkout(change, here=here, projects=known_projects())
    except NoWorktree:
        if not create:
            raise
    chosen = settings(here)
    made = make_checkout(change, here=here, copy=chosen.worktree_copy, setup=chosen.worktree_setup)
    announce(made)
    return made


def worktree_settings(resolved: Resolved) -> Resolved:
    """Return the settings for a loop in a worktree; the default agent is Claude Code."""
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
    """Return the spec of a loop on a task in a worktree."""
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


def resumed_spec(loop: LoopSummary, changed: Mapping[str, Any], *, flag: Callable[[str], str]) -> LoopSpec:
    """Return the spec that continues a loop, with the changed settings applied."""
    spec = kept_spec(loop.folder) or _spec_before(loop)
    if spec is None:
        raise UsageError(f"no loop on '{loop.change}' to continue", hint=Hint.START_WORKTREE_LOOP)
    before = msgspec.structs.asdict(spec.settings)
    mine = resolve_settings(None, {}).settings
    before |= {name: getattr(mine, name) for name in OWN}  # what holds for all loops holds as it is now
    layers = [Layer("", before), *(Layer(flag(name), {name: value}) for name, value in changed.items())]
    return msgspec.structs.replace(
        spec,
        run_id=new_run_id(),
        root=loop.root,
        settings=merge(layers).settings,
        log=str(Path(loop.root) / LOG),
        fresh=False,
    )


def _spec_before(loop: LoopSummary) -> LoopSpec | None:
    """Return the spec of a loop whose worktree was moved. Its run id must match: an agent can write the folder."""
    spec = kept_spec(folder_before(loop))
    return spec if spec is not None and spec.run_id == loop.run_id else None


def refuse_early(spec: LoopSpec) -> None:
    """Run the runner's checks before a window opens, and hide our files from git."""
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
