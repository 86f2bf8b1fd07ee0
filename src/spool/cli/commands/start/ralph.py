"""`spool ralph`: runs one prompt on a change in a loop."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from spool.app.loops.given_file import read_given
from spool.cli.edge import load_asyncio
from spool.cli.options import loop_options as shared
from spool.cli.options.budget_options import BUDGET_OPTIONS, STALL_OPTION
from spool.cli.options.groups import EXIT_CODES, GroupedCommand, option
from spool.cli.options.target import complete_plan, pick_change, resume_command
from spool.domain.change.plan_file.ids import is_plan_name
from spool.domain.loop.summary import LoopKind
from spool.errors import UsageError

if TYPE_CHECKING:
    from spool.sources.project import Project

_target = option("Input")
_limits = option("Completion and limits")
_run = option("Run")
_PLAN_PROMPT = "Implement the plan."
_LARGEST_PROMPT = 16 << 20

_EXAMPLES = (
    'spool ralph "Implement the change" --change 002-01_add-ralph-loop',
    'spool ralph "Implement the change" -c 2-1 --harness claude --allow-all',
    "spool ralph --prompt-file prompt.md -c add-auth --fail-fast --json",
    'spool ralph --plan PLAN.md --verify "make test"',
    "spool ralph --status -c add-auth",
    'spool ralph --add-context "The port is 8080, not 80" -c add-auth',
)


@click.command("ralph", cls=GroupedCommand, examples=_EXAMPLES, epilog=EXIT_CODES)
@click.argument("prompt", nargs=-1)
@shared.together(shared.TARGET_OPTIONS)
@_target("--plan", metavar="FILE", shell_complete=complete_plan, help="Work on this Markdown file instead of a change.")
@shared.TICK_OPTION
@_target("--prompt-file", metavar="PATH", help="Read the prompt from a file, or - for standard input.")
@shared.IN_OPTION
@shared.together(shared.SANDBOX_OPTIONS)
@shared.together(shared.AGENT_OPTIONS)
@_limits("--min-iterations", type=int, metavar="N", help="Run at least N iterations.  [default: 1]")
@_limits("--max-iterations", type=int, metavar="N", help="Stop after N iterations in this run.  [default: 50]")
@_limits("--no-max-iterations", is_flag=True, help="No iteration limit.")
@_limits("--completion-promise", metavar="TEXT", help="Text that the agent must promise.  [default: COMPLETE]")
@_limits("--fail-fast", is_flag=True, default=None, help="Stop once an agent fails, times out or exits with an error.")
@_limits("--error-threshold", type=int, metavar="N", help="Stop after N consecutive errors.  [default: 10]")
@STALL_OPTION
@shared.together(BUDGET_OPTIONS, shared.AGENT_LIMIT_OPTIONS, shared.GATE_OPTIONS, shared.START_OPTIONS)
@_run("--auto-commit", is_flag=True, default=None, help="Commit the work of each iteration.")
@shared.INCLUDE_DIRTY
@shared.together(shared.OUTPUT_OPTIONS, shared.LOOK_OPTIONS)
def ralph(prompt: tuple[str, ...], **given: Any) -> int:
    """Run an agent on a change in a loop until it promises completion.

    After a crash or Ctrl-C, run the same command again to continue.
    """
    if given["change"] is None and given["plan"] is None and _names_plan(prompt):
        given, prompt = {**given, "plan": prompt[0]}, ()
    _refuse_contradictions(prompt, given)
    if shared.starts_no_loop(given):
        project, change_id = _picked(given)
        from spool.cli.options.status_options import show_or_add_context

        return show_or_add_context(LoopKind.RALPH, given, project.root, change_id)
    user_prompt = _user_prompt(prompt, given["prompt_file"], plan=given["plan"])
    project, change_id = _picked(given)
    if shared.may_prompt(given) and not given["fresh"] and not _wants_more(project.root, change_id):
        return 0

    load_asyncio()
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.cli.options.loop_start import place_loop, start

    shared.prepare(project, change_id, given)
    settings = settings_to_start(project.root, _flags(given), ask=shared.may_prompt(given)).settings
    spec = shared.spec_of(LoopKind.RALPH, project.root, change_id, settings, given)
    again = resume_command(change_id if given["change"] is None and given["plan"] is None else None)
    spec = place_loop(msgspec.structs.replace(spec, task=user_prompt, again=again), given["place"])
    return start(spec, detach=given["detach"])


def _names_plan(prompt: tuple[str, ...]) -> bool:
    """Whether the only word of a prompt is the name of a Markdown file."""
    return len(prompt) == 1 and is_plan_name(prompt[0]) and Path(prompt[0]).is_file()


def _picked(given: dict[str, Any]) -> tuple["Project", str]:
    """Return the project and the change, or the plan file in its place."""
    if (plan := given["plan"]) is None:
        return pick_change(given["change"], given["module"], interactive=shared.may_prompt(given))
    if not is_plan_name(plan):
        raise UsageError(f"{plan} is not a Markdown file", hint="the name of a plan ends with .md")
    return pick_change(plan, given["module"], interactive=False)


def _wants_more(root: Path, change: str) -> bool:
    """Ask before another iteration is spent on a change that is done."""
    from spool.app.loops.loop_list import loop_at
    from spool.domain.loop.verdict import Status

    loop = loop_at(root, LoopKind.RALPH, change)
    if loop is None or loop.status is not Status.DONE:
        return True
    import questionary

    question = f"{change} is done. Run another iteration?"
    answer = questionary.confirm(question, default=False).ask()
    if answer is None:
        raise click.Abort
    return bool(answer)


def _refuse_contradictions(prompt: tuple[str, ...], given: dict[str, Any]) -> None:
    shared.refuse_contradictions(given)
    if given["plan"] is not None and given["change"] is not None:
        raise UsageError("--plan and --change cannot be used together")
    if shared.starts_no_loop(given) and (prompt or given["prompt_file"]):
        raise UsageError("--status and the context options take no prompt")
    if prompt and given["prompt_file"]:
        raise UsageError("a prompt argument and --prompt-file cannot be used together")
    if given["no_max_iterations"] and given["max_iterations"] is not None:
        raise UsageError("--max-iterations and --no-max-iterations cannot be used together")
    if given["max_iterations"] is not None and given["max_iterations"] < 1:
        raise UsageError("--max-iterations must be at least 1", hint="--no-max-iterations removes the limit")


def _user_prompt(words: tuple[str, ...], file: str | None, *, plan: str | None) -> str:
    text = read_given(file, most_bytes=_LARGEST_PROMPT) if file is not None else " ".join(words)
    if plan is not None and file is None and not words:
        return _PLAN_PROMPT
    if not text.strip():
        what = f"{file} is empty" if file is not None else "a prompt is required"
        raise UsageError(what, hint='for example: spool ralph "Implement the change" --change ID')
    return text


def _flags(given: dict[str, Any]) -> dict[str, Any]:
    found = shared.flag_settings(given)
    return {**found, "max_iterations": 0} if given["no_max_iterations"] else found
