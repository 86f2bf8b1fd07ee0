"""Prepares a worktree loop: finds the worktree, its settings and its spec, and checks them."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from spool.app.changes.resolver import known_changes, known_projects
from spool.app.loops.loop_list import folder_before
from spool.app.starting.construction import find_harness, new_run_id, new_spec, require_file
from spool.app.starting.effective_settings import resolve_settings, root_here
from spool.app.starting.loop_workspace import no_clone
from spool.app.starting.uncommitted import refuse_dirty_now
from spool.app.starting.workspace_start import notes_of_new
from spool.domain.change.checkout import Checkout
from spool.domain.change.workspaces import Kind
from spool.domain.loop.criteria import Criterion, bounds_for
from spool.domain.loop.settings import OWN, Layer, Resolved, Settings, merge
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind, LoopSummary
from spool.errors import Hint, LockedError, NoWorktree, UsageError
from spool.host.git.checkouts import checkout_at, common_dir, find_checkout, has_branch, make_checkout
from spool.host.git.pointers import main_of
from spool.host.state.loop_files import LOG, hide_own_files, read_loop_file, refuse_links
from spool.host.state.run_registry import this_machine
from spool.host.state.specs import kept_spec
from spool.sources.project import bare_project


def checkout_of(
    change: str,
    settings_here: Callable[[], Settings],
    *,
    path: str | None,
    create: bool,
    everywhere: bool,
    unwritten: bool,
) -> tuple[Checkout, list[str]]:
    """Return the worktree of a change; for one that was just created also what a person should know of it.

    With `unwritten`, because a task and a criterion were given, the change may be one that nobody has written.
    """
    if path is not None:
        return checkout_at(Path(path)), []
    here = Path.cwd()
    try:
        return find_checkout(change, here=here, projects=known_projects() if everywhere else None), []
    except NoWorktree:
        if not create:
            raise
    if not unwritten and change not in known_changes(here) and not has_branch(change, here):
        listed = ", ".join(sorted(known_changes(here))) or "none"
        raise UsageError(f"no such change: '{change}' (known: {listed})", hint=Hint.NO_CRITERION)
    settings = settings_here()
    require_file(find_harness(settings), root_here() or here)  # a missing agent is noticed before anything is made
    made, copied = make_checkout(
        change,
        here=here,
        copy=settings.worktree_copy,
        setup=settings.worktree_setup,
        folders=bare_project(root_here() or here).paths_of(change),  # they may not be committed yet
    )
    top = Path(made.path)
    return made, notes_of_new(Kind.WORKTREE, top, made.branch or "", main=main_of(top), copied=copied)


def worktree_settings(resolved: Resolved) -> Settings:
    """Return the settings for a loop in a worktree; the default agent is Claude Code."""
    settings = resolved.settings
    if settings.sandbox:
        raise no_clone()
    return settings if resolved.origins["harness"] != "default" else msgspec.structs.replace(settings, harness="claude")


def task_spec(
    root: Path,
    change: str,
    task: str,
    settings: Settings,
    *,
    criterion: Criterion,
    done_command: str = "",
    max_iterations: int | None = None,
    stall: int | None = None,
    no_gates: bool = False,
) -> LoopSpec:
    """Return the spec of a loop on a task in a worktree."""
    limit, stall = bounds_for(
        criterion,
        max_iterations=max_iterations,
        configured=settings.max_iterations,
        stall=stall,
        stall_default=settings.stall_iterations,
    )
    return new_spec(
        LoopKind.WORKTREE,
        root,
        change,
        msgspec.structs.replace(settings, max_iterations=limit or 0, stall_iterations=stall),
        task=task,
        criterion=criterion,
        done_command=done_command,
        fresh=True,
        no_gates=no_gates,
        log=str(root / LOG),
    )


def resumed_spec(loop: LoopSummary, changed: list[Layer]) -> LoopSpec:
    """Return the spec that continues a loop, with the changed settings applied."""
    spec = kept_spec(loop.folder) or _spec_before(loop)
    if spec is None:
        raise UsageError(f"no loop on '{loop.change}' to continue", hint=Hint.START_WORKTREE_LOOP)
    mine = resolve_settings(None).settings
    own = {name: getattr(mine, name) for name in OWN}  # what holds for all loops holds as it is now
    return msgspec.structs.replace(
        spec,
        run_id=new_run_id(),
        root=loop.root,
        settings=merge(changed, onto=msgspec.structs.replace(spec.settings, **own)).settings,
        log=str(Path(loop.root) / LOG),
        fresh=False,
    )


def _spec_before(loop: LoopSummary) -> LoopSpec | None:
    """Return the spec of a loop whose worktree was moved. Its run id must match: an agent can write the folder."""
    spec = kept_spec(folder_before(loop))
    return spec if spec is not None and spec.run_id == loop.run_id else None


def refuse_early(spec: LoopSpec) -> None:
    """Run the runner's checks before a window opens, and hide our files from git."""
    if spec.sandbox_rules is not None:
        raise no_clone()
    root = Path(spec.root)
    bare_project(root)
    refuse_links(root)
    read_loop_file(root)
    require_file(find_harness(spec.settings), root)
    refuse_dirty_now(spec)
    for other in this_machine().running():
        if Path(other.worktree).resolve() == root.resolve():
            raise LockedError(
                f"a loop on '{other.change}' is already running in {other.worktree} "
                f"(pid {other.runner.pid}, since {other.started_at.astimezone():%H:%M:%S})",
                door=other.door,
                change=other.change,
                run_id=other.run_id,
            )
    hide_own_files(common_dir(root))
