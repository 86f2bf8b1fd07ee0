"""`spool run`: runs a change story by story."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
import msgspec

from spool.cli.edge import load_asyncio
from spool.cli.options import loop_options as shared
from spool.cli.options.flags import option_of, takes
from spool.cli.options.groups import GroupedCommand
from spool.cli.options.target import complete_change, pick_change, pick_changes, resume_command
from spool.domain.change.workspaces import Kind
from spool.domain.loop.summary import LoopKind
from spool.domain.text.plain_text import counted
from spool.errors import UsageError

if TYPE_CHECKING:  # `--status` starts no loop
    from spool.app.starting.batch import BatchPlan
    from spool.domain.loop.spec import LoopSpec

_target = option_of("Input")
_place = option_of("Workspace")
_EXAMPLES = (
    "spool run add-auth --harness claude --allow-all",
    'spool run PLAN.md --verify "make test"',
    "spool run add-auth --max-retries 5 --commit-stories",
    "spool run add-auth --json | jq .",
    "spool run add-auth add-search fix-login --parallel 3 --in clone",
    "spool run add-auth --status",
)


class RunFlags(shared.LoopFlags, frozen=True, kw_only=True):
    """The options of `spool run`."""

    tick: bool = shared.TICK
    every: bool = _target("--all", help="Run all changes of this repository that have open tasks.")
    parallel: int | None = _place(
        "--parallel",
        type=click.IntRange(min=1),
        metavar="N",
        help="Run up to N changes at a time, each in a worktree unless --in says otherwise.  [default: 1]",
    )
    max_retries: int | None = shared.MAX_RETRIES
    budget: shared.BudgetFlags
    limits: shared.AgentLimitFlags
    on_resume: Literal["revert", "keep"] | None = shared.ON_RESUME
    commit_stories: bool | None = shared.COMMIT_STORIES
    include_dirty: bool | None = shared.INCLUDE_DIRTY


@click.command(
    "run",
    cls=GroupedCommand,
    examples=_EXAMPLES,
    epilog="Exit codes: 0 complete, 1 failed or out of retries, 2 usage error, 4 stuck or out of budget, "
    "5 done but commits failed, 6 needs you, 130 interrupted; of several changes the first of 130, 1, 4, 6, 3, 5, 0.",
)
@click.argument("changes", metavar="[CHANGE | PLAN.md]...", nargs=-1, shell_complete=complete_change)
@takes(RunFlags)
def run(changes: tuple[str, ...], options: RunFlags) -> int:
    """Run a change story by story: checkpoint each story, revert and retry it on failure.

    An argument that names a Markdown file is a plan: its headings are the stories, its list items the tasks.

    After a crash or Ctrl-C, run the same command again to continue with the interrupted story.

    Several changes run one after the other, or N at a time with --parallel, each in a workspace of its own and in the
    order of `depends_on` in the front matter of their proposals.
    """
    options.refuse_contradictions()
    named = options.target.change
    if changes and named is not None:
        raise UsageError("give the change once, as an argument or with --change")
    if changes and options.every:
        raise UsageError("--all takes no change")
    if len(changes) > 1 or options.every or options.parallel is not None:
        return _run_batch(changes or tuple(filter(None, [named])), options)
    query = changes[0] if changes else named
    project, change = pick_change(query, options.target.module, interactive=options.may_prompt)
    if options.look.given:
        return options.look.answer(LoopKind.RUN, project.root, change, as_json=options.output.as_json)
    load_asyncio()
    from spool.app.starting.batch_members import read_members
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.cli.options.loop_start import place_loop, settled, start

    read_members(project, [change])  # what it depends on must be closed
    options.prepare(project, change, tick=options.tick)
    settings = settled(settings_to_start(project.root, options.settings(), ask=options.may_prompt))
    again = resume_command(change if query is None else None)
    spec = place_loop(options.spec(LoopKind.RUN, project.root, change, settings, again=again), options.place)
    answer: str = options.on_resume or ""
    if not answer and not options.start.fresh and options.may_prompt:
        answer = ask_how_to_resume(spec)
    return start(msgspec.structs.replace(spec, on_resume=answer), detach=options.start.detach)


def ask_how_to_resume(spec: "LoopSpec") -> str:
    """Ask how to resume a story if the tree was edited since an earlier run left it; return an empty text if not."""
    from spool.app.starting.edited_tree import edited_since

    left = edited_since(Path(spec.root), spec.change, spec.settings, spec.workspace)
    if left is None:
        return ""
    import questionary

    answer = questionary.select(
        f"The tree is not as the last run left it in {left.label} (changed: {left.shown}). Continue",
        choices=[
            questionary.Choice("from the working tree as it is now", value="keep"),
            questionary.Choice("from the story's checkpoint; all later changes, yours too, are saved", value="revert"),
        ],
    ).ask()
    if answer is None:
        raise click.Abort
    return str(answer)


def _run_batch(names: Sequence[str], options: RunFlags) -> int:
    """Run several changes and return the exit code of all."""
    _refuse_in_batch(options)
    from spool.app.starting.batch import Batch
    from spool.views.live.batch_view import batch_view, show_ends
    from spool.views.say import say

    plan, as_json = _batch_plan(names, options), options.output.as_json
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


def _batch_plan(names: Sequence[str], options: RunFlags) -> "BatchPlan":
    from spool.app.starting.batch import BatchPlan
    from spool.app.starting.batch_members import read_members
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.cli.options.loop_start import settled

    project, changes = pick_changes(names, options.target.module, every=options.every)
    if not changes:
        raise UsageError("no changes to run", hint="name them, or run all that are open with --all")
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
        parallel=options.parallel or 1,
    )


def _refuse_in_batch(options: RunFlags) -> None:
    if options.place == "here":
        raise UsageError("several changes cannot share one tree", hint="use --in worktree or --in clone")
    if options.look.given:
        raise UsageError("--status and the context options take one change", hint="spool ps lists running loops")
