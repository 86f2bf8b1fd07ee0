"""`spool run`: runs a change story by story."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from spool.cli.edge import load_asyncio
from spool.cli.options import loop_options as shared
from spool.cli.options.budget_options import BUDGET_OPTIONS
from spool.cli.options.groups import GroupedCommand, option
from spool.cli.options.target import complete_change, pick_change, resume_command
from spool.domain.loop.summary import LoopKind
from spool.errors import UsageError

if TYPE_CHECKING:  # `--status` starts no loop
    from spool.domain.loop.spec import LoopSpec

_limits = option("Completion and limits")
_run = option("Run")
_target = option("Input")
_place = option("Workspace")
_EXAMPLES = (
    "spool run add-auth --harness claude --allow-all",
    'spool run PLAN.md --verify "make test"',
    "spool run add-auth --max-retries 5 --commit-stories",
    "spool run add-auth --json | jq .",
    "spool run add-auth add-search fix-login --parallel 3 --in clone",
    "spool run add-auth --status",
)


@click.command(
    "run",
    cls=GroupedCommand,
    examples=_EXAMPLES,
    epilog="Exit codes: 0 complete, 1 failed or out of retries, 2 usage error, 4 stuck or out of budget, "
    "5 done but commits failed, 130 interrupted; of several changes the first of 130, 1, 4, 3, 5, 0 that occurred.",
)
@click.argument("changes", metavar="[CHANGE | PLAN.md]...", nargs=-1, shell_complete=complete_change)
@shared.together(shared.TARGET_OPTIONS, (shared.TICK_OPTION,))
@_target("--all", "every", is_flag=True, help="Run all changes of this repository that have open tasks.")
@shared.IN_OPTION
@shared.together(shared.SANDBOX_OPTIONS)
@_place(
    "--parallel",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run up to N changes at a time, each in a worktree unless --in says otherwise.  [default: 1]",
)
@shared.together(shared.AGENT_OPTIONS)
@_limits("--max-retries", type=int, metavar="N", help="Retry a story up to N times.  [default: 3]")
@shared.together(BUDGET_OPTIONS, shared.AGENT_LIMIT_OPTIONS, shared.GATE_OPTIONS, shared.START_OPTIONS)
@_run(
    "--on-resume",
    type=click.Choice(["revert", "keep"]),
    help="Resume a story from its checkpoint (revert) or from the tree as it is (keep).  "
    "[default: revert; if the tree was edited since, ask, else keep]",
)
@_run("--commit-stories", is_flag=True, default=None, help="Commit the work of each finished story.")
@shared.INCLUDE_DIRTY
@shared.together(shared.OUTPUT_OPTIONS, shared.LOOK_OPTIONS)
def run(changes: tuple[str, ...], **given: Any) -> int:
    """Run a change story by story: checkpoint each story, revert and retry it on failure.

    An argument that names a Markdown file is a plan: its headings are the stories, its list items the tasks.

    After a crash or Ctrl-C, run the same command again to continue with the interrupted story.

    Several changes run one after the other, or N at a time with --parallel, each in a workspace of its own and in the
    order of `depends_on` in the front matter of their proposals.
    """
    shared.refuse_contradictions(given)
    if changes and given["change"] is not None:
        raise UsageError("give the change once, as an argument or with --change")
    if changes and given["every"]:
        raise UsageError("--all takes no change")
    if len(changes) > 1 or given["every"] or given["parallel"] is not None:
        from spool.cli.commands.start.several import run_batch

        return run_batch(changes or tuple(filter(None, [given["change"]])), given)
    change_id = changes[0] if changes else None
    project, found = pick_change(change_id or given["change"], given["module"], interactive=shared.may_prompt(given))
    if shared.starts_no_loop(given):
        from spool.cli.options.status_options import show_or_add_context

        return show_or_add_context(LoopKind.RUN, given, project.root, found)
    load_asyncio()
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.cli.options.loop_start import place_loop, start

    shared.prepare(project, found, given)
    settings = settings_to_start(project.root, shared.flag_settings(given), ask=shared.may_prompt(given)).settings
    spec = place_loop(shared.spec_of(LoopKind.RUN, project.root, found, settings, given), given["place"])
    answer = given["on_resume"] or ""
    if not answer and not given["fresh"] and shared.may_prompt(given):
        answer = ask_how_to_resume(spec)

    again = resume_command(found if change_id is None and given["change"] is None else None)
    return start(msgspec.structs.replace(spec, on_resume=answer, again=again), detach=given["detach"])


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
