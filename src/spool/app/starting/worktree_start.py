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


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The worktree that a start asks for."""

    change: str
    path: str | None = None
    """This worktree instead of the change's."""
    create: bool = False
    everywhere: bool = False
    """Whether worktrees of other projects are meant too."""
    unwritten: bool = False
    """Whether the change may be one that nobody has written, because a task and a criterion were given."""


def checkout_of(wanted: Wanted, settings_here: Callable[[], Settings]) -> tuple[Checkout, list[str]]:
    """Return the worktree of a change; for one that was just created also what a person should know of it."""
    if wanted.path is not None:
        return checkout_at(Path(wanted.path)), []
    here = Path.cwd()
    try:
        return find_checkout(wanted.change, here=here, projects=known_projects() if wanted.everywhere else None), []
    except NoWorktree:
        if not wanted.create:
            raise
    if not wanted.unwritten and wanted.change not in known_changes(here) and not has_branch(wanted.change, here):
        listed = ", ".join(sorted(known_changes(here))) or "none"
        raise UsageError(f"no such change: '{wanted.change}' (known: {listed})", hint=Hint.NO_CRITERION)
    settings = settings_here()
    require_file(find_harness(settings), root_here() or here)  # a missing agent is noticed before anything is made
    made, copied = make_checkout(
        wanted.change,
        here=here,
        copy=settings.worktree_copy,
        setup=settings.worktree_setup,
        folders=_folders(wanted.change, here),
    )
    path = Path(made.path)
    return made, notes_of_new(Kind.WORKTREE, path, made.branch or "", main=main_of(path), copied=copied)


def _folders(change: str, here: Path) -> list[Path]:
    """Return the folders of a change in the project around this directory, which may not be committed yet."""
    root = root_here()
    return bare_project(root or here).paths_of(change)


def worktree_settings(resolved: Resolved) -> Resolved:
    """Return the settings for a loop in a worktree; the default agent is Claude Code."""
    if resolved.settings.sandbox:
        raise no_clone()
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
    no_gates: bool = False,
) -> LoopSpec:
    """Return the spec of a loop on a task in a worktree."""
    limit, stall = bounds_for(
        criterion,
        max_iterations=max_iterations,
        configured=resolved.settings.max_iterations,
        stall=stall,
        stall_default=resolved.settings.stall_iterations,
    )
    settings = msgspec.structs.replace(resolved.settings, max_iterations=limit or 0, stall_iterations=stall)
    return new_spec(
        LoopKind.WORKTREE,
        root,
        change,
        settings,
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
