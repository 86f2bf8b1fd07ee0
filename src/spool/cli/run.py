"""`spool run`: reads the command line and hands on."""

from dataclasses import replace
from typing import Any

import click
import msgspec

from spool.cli.loop_options import (
    AGENT_OPTIONS,
    LOOK_OPTIONS,
    OUTPUT_OPTIONS,
    TARGET_OPTIONS,
    TIME_OPTIONS,
    flag_settings,
    may_ask,
    only_looks,
    refuse_contradictions,
    together,
)
from spool.cli.options import GroupedCommand, option
from spool.cli.target import complete_change, load_settings, pick_change, resume_command
from spool.domain.verdict import Status
from spool.errors import UsageError
from spool.host.runner.identity import is_alive
from spool.host.state.store import StateFolder

_limits = option("When to stop")
_agent = option("Which agent")
_EXAMPLES = (
    "spool run add-auth --harness claude --allow-all",
    "spool run add-auth --max-retries 5 --command-timeout 60 --commit-stories",
    "spool run add-auth --json | jq .",
    "spool run --status -c add-auth",
)


@click.command(
    "run",
    cls=GroupedCommand,
    examples=_EXAMPLES,
    epilog="Exit codes: 0 complete, 1 failed or retries used up, 2 usage, 130 interrupted.",
)
@click.argument("change_id", metavar="[CHANGE]", required=False, shell_complete=complete_change)
@together(TARGET_OPTIONS, AGENT_OPTIONS)
@_agent("--commit-stories", is_flag=True, default=None, help="Commit the work of each finished story.")
@_limits("--max-retries", type=int, metavar="N", help="Try a story again so many times.  [default: 3]")
@_limits(
    "--on-resume",
    type=click.Choice(["revert", "keep"]),
    help="After a stop: go on from the story's checkpoint, or from the tree as it is.  [default: revert]",
)
@together(TIME_OPTIONS, LOOK_OPTIONS, OUTPUT_OPTIONS)
@click.help_option("-h", "--help")
def run(change_id: str | None, **given: Any) -> int:
    """Walk a change story by story, with a checkpoint before each and a revert and another attempt after a failure.

    Started again after a crash or Ctrl-C, the same command goes on with the story that was running.
    """
    refuse_contradictions(given)
    if change_id is not None and given["change"] is not None:
        raise UsageError("give the change once, as an argument or with --change")
    project, found = pick_change(change_id or given["change"], given["module"], interactive=may_ask(given))
    if only_looks(given):
        from spool.cli.status import look_or_steer

        return look_or_steer("run", given, project, found)
    settings = load_settings(project.root, flag_settings(given))
    if given["on_resume"] is None and may_ask(given):
        answer = ask_how_to_resume(StateFolder(project.state / "run" / found))
        settings = msgspec.structs.replace(settings, on_resume=answer or settings.on_resume)

    from spool.cli.detach import run_or_detach
    from spool.cli.run_job import story_job
    from spool.cli.views.viewer import Show

    show = Show.JSON if given["as_json"] else Show.STREAM if settings.stream else Show.RESULTS
    job = story_job(project, found, settings, show=show)
    if change_id is None and given["change"] is None:
        job = replace(job, resume=resume_command(found))
    job = replace(job, fresh=given["fresh"], verbose=given["verbose"])
    return run_or_detach(job, detach=given["detach"])


def ask_how_to_resume(folder: StateFolder) -> str | None:
    """Ask what to do with the tree of a story that an earlier run left unfinished, if one did."""
    state = folder.load()
    if state is None or state.story is None or state.status is Status.DONE or is_alive(state.runner):
        return None
    import questionary

    answer = questionary.select(
        f"An earlier run ended in story {state.story.id}, {state.story.title}. Where to go on?",
        choices=[
            questionary.Choice("from its checkpoint; what was done since is kept aside", value="revert"),
            questionary.Choice("from the working tree as it is now", value="keep"),
        ],
    ).ask()
    if answer is None:
        raise click.Abort
    return str(answer)
