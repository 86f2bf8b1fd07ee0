"""Runs several changes at once, for `spool run A B C` and `spool run --all`."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spool.domain.change.workspaces import Kind
from spool.domain.loop.summary import LoopKind
from spool.domain.text.plain_text import counted
from spool.errors import UsageError
from spool.sources.project import find_project

if TYPE_CHECKING:
    from spool.app.starting.batch import BatchPlan
    from spool.cli.commands.start.run import RunFlags

_DEFAULT_PARALLEL = 1


def run_batch(names: Sequence[str], options: "RunFlags") -> int:
    """Run several changes and return the exit code of all."""
    _refuse_contradictions(options)
    from spool.app.starting.batch import Batch
    from spool.views.live.batch_view import batch_view, show_ends
    from spool.views.say import say

    plan, as_json = _plan(names, options), options.output.as_json
    if options.start.detach:
        return _detach(plan)
    if not as_json:
        say("Watch them on the full screen, in another terminal: spool attach", err=True)
    view = batch_view([one.change for one in plan.members], as_json=as_json, verbose=options.output.verbose)
    batch = Batch(plan, view, as_json=as_json)
    code = batch.run()
    if not as_json:
        show_ends(batch.ended, plan.specs[0].again)
    return code


def _detach(plan: "BatchPlan") -> int:
    """Run this command again in the background, and print how to watch it."""
    import sys

    from spool.app.starting.construction import find_harness, require_file
    from spool.app.starting.launch import command_in_background
    from spool.views.say import say

    spec = plan.specs[0]
    require_file(find_harness(spec.settings), Path(spec.root))
    words = [word for word in sys.argv[1:] if word not in ("--detach", "-d")]
    pid, log = command_in_background(words, spec.run_id)
    say(
        f"Started {counted(len(plan.members), 'change')} in the background, {plan.parallel} at a time (pid {pid}).",
        "  spool attach      watch them",
        f"  tail -f {shlex.quote(str(log))}",
        f"  kill {pid}        stop all, also those that have not started",
    )
    return 0


def _plan(names: Sequence[str], options: "RunFlags") -> "BatchPlan":
    from spool.app.starting.batch import BatchPlan
    from spool.app.starting.batch_members import open_changes, read_members
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.cli.options.loop_start import settled
    from spool.cli.options.target import pick_change, resume_command

    module = options.target.module
    picked = [pick_change(name, module, interactive=False) for name in names]
    project = picked[0][0] if picked else find_project(Path.cwd())
    changes = open_changes(project, module) if options.every else [change for _, change in picked]
    if not changes:
        raise UsageError("no changes to run", hint="name them, or run all that are open with --all")
    if any(other.root != project.root for other, _ in picked):
        raise UsageError("several changes must be of one project")
    for change in changes:
        options.prepare(project, change, tick=options.tick)
    members = read_members(project, changes)
    settings = settled(settings_to_start(project.root, options.settings(), ask=options.may_prompt))
    again, answer = resume_command(), options.on_resume or ""
    return BatchPlan(
        members=tuple(members),
        specs=tuple(
            options.spec(LoopKind.RUN, project.root, member.change, settings, again=again, on_resume=answer)
            for member in members
        ),
        kind=Kind(options.place or (Kind.CLONE if settings.sandbox else Kind.WORKTREE)),
        parallel=options.parallel or _DEFAULT_PARALLEL,
    )


def _refuse_contradictions(options: "RunFlags") -> None:
    if options.place == "here":
        raise UsageError("several changes cannot share one tree", hint="use --in worktree or --in clone")
    if options.look.given:
        raise UsageError("--status and the context options take one change", hint="spool ps lists running loops")
