"""`spool ralph`: runs one prompt on a change in a loop."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spool.app.loops.given_file import read_given
from spool.cli.edge import load_asyncio
from spool.cli.options import loop_options as shared
from spool.cli.options.flags import option_of, takes
from spool.cli.options.groups import EXIT_CODES, GroupedCommand
from spool.cli.options.target import complete_plan, pick_change, resume_command
from spool.domain.change.plan_file.ids import is_plan_name
from spool.domain.loop.summary import LoopKind
from spool.errors import UsageError

if TYPE_CHECKING:
    from spool.domain.loop.settings import Layer
    from spool.sources.project import Project

_target = option_of("Input")
_limits = option_of("Completion and limits")
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


class RalphFlags(shared.LoopFlags, frozen=True, kw_only=True):
    """The options of `spool ralph`."""

    plan: str | None = _target(
        "--plan", metavar="FILE", shell_complete=complete_plan, help="Work on this Markdown file instead of a change."
    )
    tick: bool = shared.TICK
    prompt_file: str | None = _target(
        "--prompt-file", metavar="PATH", help="Read the prompt from a file, or - for standard input."
    )
    min_iterations: int | None = _limits(
        "--min-iterations", metavar="N", help="Run at least N iterations.  [default: 1]"
    )
    max_iterations: int | None = _limits(
        "--max-iterations", metavar="N", help="Stop after N iterations in this run.  [default: 50]"
    )
    no_max_iterations: bool = _limits("--no-max-iterations", help="No iteration limit.")
    completion_promise: str | None = _limits(
        "--completion-promise", metavar="TEXT", help="Text that the agent must promise.  [default: COMPLETE]"
    )
    fail_fast: bool | None = _limits("--fail-fast", help="Stop once an agent fails, times out or exits with an error.")
    error_threshold: int | None = _limits(
        "--error-threshold", metavar="N", help="Stop after N consecutive errors.  [default: 10]"
    )
    stall_iterations: int | None = shared.STALL
    budget: shared.BudgetFlags
    limits: shared.AgentLimitFlags
    auto_commit: bool | None = shared.AUTO_COMMIT
    include_dirty: bool | None = shared.INCLUDE_DIRTY


@click.command("ralph", cls=GroupedCommand, examples=_EXAMPLES, epilog=EXIT_CODES)
@click.argument("prompt", nargs=-1)
@takes(RalphFlags)
def ralph(prompt: tuple[str, ...], options: RalphFlags) -> int:
    """Run an agent on a change in a loop until it promises completion.

    After a crash or Ctrl-C, run the same command again to continue.
    """
    named, plan = options.target.change, options.plan
    if named is None and plan is None and _names_plan(prompt):
        plan, prompt = prompt[0], ()
    _refuse_contradictions(prompt, options)
    if options.look.given:
        project, change = _picked(plan, options)
        return options.look.answer(LoopKind.RALPH, project.root, change, as_json=options.output.as_json)
    task = _user_prompt(prompt, options.prompt_file, plan=plan)
    project, change = _picked(plan, options)
    if options.may_prompt and not options.start.fresh and not _wants_more(project.root, change):
        return 0

    load_asyncio()
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.cli.options.loop_start import place_loop, settled, start

    options.prepare(project, change, tick=options.tick)
    settings = settled(settings_to_start(project.root, _settings(options), ask=options.may_prompt))
    again = resume_command(change if named is None and plan is None else None)
    spec = options.spec(LoopKind.RALPH, project.root, change, settings, again=again, task=task)
    return start(place_loop(spec, options.place), detach=options.start.detach)


def _names_plan(prompt: tuple[str, ...]) -> bool:
    """Whether the only word of a prompt is the name of a Markdown file."""
    return len(prompt) == 1 and is_plan_name(prompt[0]) and Path(prompt[0]).is_file()


def _picked(plan: str | None, options: RalphFlags) -> tuple["Project", str]:
    """Return the project and the change, or the plan file in its place."""
    target = options.target
    if plan is None:
        return pick_change(target.change, target.module, interactive=options.may_prompt)
    if not is_plan_name(plan):
        raise UsageError(f"{plan} is not a Markdown file", hint="the name of a plan ends with .md")
    return pick_change(plan, target.module, interactive=False)


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


def _refuse_contradictions(prompt: tuple[str, ...], options: RalphFlags) -> None:
    options.refuse_contradictions()
    if options.plan is not None and options.target.change is not None:
        raise UsageError("--plan and --change cannot be used together")
    if options.look.given and (prompt or options.prompt_file):
        raise UsageError("--status and the context options take no prompt")
    if prompt and options.prompt_file:
        raise UsageError("a prompt argument and --prompt-file cannot be used together")
    if options.no_max_iterations and options.max_iterations is not None:
        raise UsageError("--max-iterations and --no-max-iterations cannot be used together")
    if options.max_iterations is not None and options.max_iterations < 1:
        raise UsageError("--max-iterations must be at least 1", hint="--no-max-iterations removes the limit")


def _user_prompt(words: tuple[str, ...], file: str | None, *, plan: str | None) -> str:
    text = read_given(file, most_bytes=_LARGEST_PROMPT) if file is not None else " ".join(words)
    if plan is not None and file is None and not words:
        return _PLAN_PROMPT
    if not text.strip():
        what = f"{file} is empty" if file is not None else "a prompt is required"
        raise UsageError(what, hint='for example: spool ralph "Implement the change" --change ID')
    return text


def _settings(options: RalphFlags) -> "list[Layer]":
    from spool.domain.loop.settings import Layer

    found = options.settings()
    return [*found, Layer("--no-max-iterations", {"max_iterations": 0})] if options.no_max_iterations else found
