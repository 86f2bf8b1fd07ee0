"""`spool run`: runs a change story by story."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
import msgspec

from spool.cli.edge import load_asyncio
from spool.cli.options import loop_options as shared
from spool.cli.options.flags import option_of, takes
from spool.cli.options.groups import GroupedCommand
from spool.cli.options.target import complete_change, pick_change, resume_command
from spool.domain.loop.summary import LoopKind
from spool.errors import UsageError

if TYPE_CHECKING:  # `--status` starts no loop
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
    "5 done but commits failed, 130 interrupted; of several changes the first of 130, 1, 4, 3, 5, 0 that occurred.",
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
        from spool.cli.commands.start.several import run_batch

        return run_batch(changes or tuple(filter(None, [named])), options)
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
