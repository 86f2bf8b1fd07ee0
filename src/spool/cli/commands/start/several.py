"""Runs several changes at once, for `spool run A B C` and `spool run --all`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spool.cli.options import loop_options as shared
from spool.domain.change.workspaces import Kind
from spool.domain.loop.summary import LoopKind
from spool.errors import UsageError
from spool.sources.project import find_project

if TYPE_CHECKING:
    from spool.app.starting.batch import BatchPlan

_DEFAULT_PARALLEL = 1


def run_batch(names: Sequence[str], given: dict[str, Any]) -> int:
    """Run several changes and return the exit code of all."""
    _refuse_contradictions(given)
    from spool.app.starting.batch import Batch
    from spool.views.live.batch_view import batch_view, show_ends
    from spool.views.say import say

    plan = _plan(names, given)
    changes = [member.change for member in plan.members]
    if not given["as_json"]:
        say("Watch them on the full screen, in another terminal: spool attach", err=True)
    view = batch_view(changes, as_json=given["as_json"], verbose=given["verbose"])
    batch = Batch(plan, view, as_json=given["as_json"])
    code = batch.run()
    if not given["as_json"]:
        show_ends(batch.ended, plan.specs[0].again)
    return code


def _plan(names: Sequence[str], given: dict[str, Any]) -> "BatchPlan":
    import msgspec

    from spool.app.starting.batch import BatchPlan
    from spool.app.starting.batch_members import open_changes, read_members
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.cli.options.target import pick_change, resume_command

    picked = [pick_change(name, given["module"], interactive=False) for name in names]
    project = picked[0][0] if picked else find_project(Path.cwd())
    changes = open_changes(project, given["module"]) if given["every"] else [change for _, change in picked]
    if not changes:
        raise UsageError("no changes to run", hint="name them, or run all that are open with --all")
    if any(other.root != project.root for other, _ in picked):
        raise UsageError("several changes must be of one project")
    for change in changes:
        shared.prepare(project, change, given)
    members = read_members(project, changes)
    settings = settings_to_start(project.root, shared.flag_settings(given), ask=shared.may_prompt(given)).settings
    specs = [shared.spec_of(LoopKind.RUN, project.root, member.change, settings, given) for member in members]
    again, answer = resume_command(), given["on_resume"] or ""
    return BatchPlan(
        members=tuple(members),
        specs=tuple(msgspec.structs.replace(spec, again=again, on_resume=answer) for spec in specs),
        kind=Kind(given["place"] or (Kind.CLONE if settings.sandbox else Kind.WORKTREE)),
        parallel=given["parallel"] or _DEFAULT_PARALLEL,
    )


def _refuse_contradictions(given: dict[str, Any]) -> None:
    if given["place"] == Kind.HERE:
        raise UsageError("several changes cannot share one tree", hint="use --in worktree or --in clone")
    if given["detach"]:
        raise UsageError("--detach takes one change", hint="start several in tmux, or with nohup")
    if shared.starts_no_loop(given):
        raise UsageError("--status and the context options take one change", hint="spool ps lists running loops")
