"""`spool fleet submit`: puts changes into the queue."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spool.cli.commands.fleet.account_name import AccountName
from spool.cli.commands.fleet.fleet import require_fleet
from spool.cli.options import loop_options as shared
from spool.cli.options.budget_options import BUDGET_OPTIONS
from spool.cli.options.groups import Duration, GroupedCommand, option
from spool.cli.options.target import complete_change
from spool.domain.loop.summary import LoopKind
from spool.domain.text.plain_text import counted
from spool.errors import Hint, UsageError
from spool.views.hints import worded
from spool.views.say import say, say_json

if TYPE_CHECKING:
    from spool.domain.loop.spec import LoopSpec
    from spool.fleet.queue.submission import SubmitOptions, Submitted
    from spool.sources.project import Project

_target = option("Input")
_fleet = option("Fleet")
_limits = option("Completion and limits")
_run = option("Run")
_output = option("Output")
_SHOWN = 20
"""Changes that are named one by one."""
_EXAMPLES = (
    "spool fleet submit add-auth --harness claude --allow-all",
    "spool fleet submit --all --account team --max-cost 5",
    "spool fleet submit --from-snapshots",
)


@click.command("submit", cls=GroupedCommand, examples=_EXAMPLES)
@click.argument("changes", metavar="[CHANGE]...", nargs=-1, shell_complete=complete_change)
@_target("--all", "every", is_flag=True, help="Submit all changes of this repository that have open tasks.")
@_target("--module", metavar="ID", help="Choose among the changes of this module.")
@_target("--from-snapshots", is_flag=True, help="Submit what has not ended by its snapshots: the queue was lost.")
@_fleet("--remote", default="", metavar="URL", help="Push results here.  [default: origin]")
@_fleet("--snapshots", default="", metavar="URL", help="Keep snapshots here.  [default: beside `spool fleet up`]")
@_fleet("--base", default="", metavar="BRANCH", help="Start from this branch.  [default: main]")
@_fleet(
    "--account", type=AccountName(), default="", metavar="A", help="Run on workers of this account, within its cap."
)
@_fleet("--carry-logs", is_flag=True, help="Keep the agents' raw output in the snapshots too.")
@_fleet("--heartbeat", type=Duration(), default=None, help="Give a silent host this long.  [default: 60s]")
@shared.together(shared.SANDBOX_OPTIONS, shared.AGENT_OPTIONS)
@_limits("--max-retries", type=int, metavar="N", help="Retry a story up to N times.  [default: 3]")
@shared.together(BUDGET_OPTIONS, shared.AGENT_LIMIT_OPTIONS, shared.GATE_OPTIONS)
@_run("--command-timeout", type=Duration(), help="Time limit for git and the format's own command.  [default: 30s]")
@_run("--fresh", is_flag=True, help="Start over, also what is done or begun; commits on change/ID stay.")
@_run("--no-interactive", is_flag=True, help="Never ask; fail if a value is missing.")
@_output("--json", "as_json", is_flag=True, help="Print JSON.")
def submit(changes: tuple[str, ...], **given: Any) -> int:
    """Put changes into the queue; workers run them story by story.

    The change travels as it is in your tree, committed or not; your other uncommitted files stay with you. The result
    is pushed to branch change/ID. Settings and checks count as they are now, with the trust you have given them.
    """
    require_fleet()
    from spool.fleet.queue.submission import SubmitOptions

    order = SubmitOptions(
        remote=given["remote"],
        snapshots=given["snapshots"],
        base=given["base"],
        account=given["account"],
        carry_logs=given["carry_logs"],
        **({"heartbeat_s": given["heartbeat"]} if given["heartbeat"] else {}),
    )
    rows = _again(order) if given["from_snapshots"] else _submitted(order, changes, given)
    return _show(rows, as_json=given["as_json"])


def _again(order: "SubmitOptions") -> "list[Submitted]":
    from spool.app.starting.effective_settings import resolve_settings
    from spool.fleet.queue.submission import resubmit

    return resubmit(order, Path.cwd(), timeout_s=resolve_settings(None, {}).settings.command_timeout)


def _submitted(order: "SubmitOptions", changes: tuple[str, ...], given: dict[str, Any]) -> "list[Submitted]":
    from spool.fleet.queue.submission import submit as submit_specs

    if bool(changes) == given["every"]:
        raise UsageError("name the changes to submit, or use --all")
    project, specs, left_out = _specs(changes, given)
    return submit_specs(order, project, specs, left_out)


def _specs(changes: tuple[str, ...], given: dict[str, Any]) -> "tuple[Project, list[LoopSpec], dict[str, str]]":
    """Return the changes to submit; with --all, also those that wait for others, and why."""
    from spool.app.starting.batch_members import open_changes, read_members
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.cli.options.target import pick_change
    from spool.sources.project import find_project
    from spool.sources.story_source import require_stories

    picked = [pick_change(name, given["module"], interactive=False) for name in changes]
    project = picked[0][0] if picked else find_project(Path.cwd())
    names = open_changes(project, given["module"]) if given["every"] else [change for _, change in picked]
    if not names:
        raise UsageError("no changes to submit", hint="name them, or submit all that are open with --all")
    members = read_members(project, names)
    waiting = {one.change: f"it depends on {one.depends_on[0]}" for one in members if one.depends_on}
    if waiting and not given["every"]:
        first, why = next(iter(waiting.items()))
        raise UsageError(f"{first}: {why}", hint=Hint.FLEET_DEPENDS)
    names = [name for name in names if name not in waiting]
    for name in names:
        require_stories(project.read(name))
    settings = settings_to_start(project.root, shared.gate_settings(given), ask=shared.may_prompt(given)).settings
    own = {**given, "verbose": False}
    return project, [shared.spec_of(LoopKind.RUN, project.root, name, settings, own) for name in names], waiting


def _show(rows: "list[Submitted]", *, as_json: bool) -> int:
    taken = [row for row in rows if not row.refused]
    if as_json:
        say_json(rows)
    else:
        refused = [row for row in rows if row.refused]
        for row in refused[:_SHOWN]:
            say(f"{row.id}: not submitted: {row.refused}", err=True)
        if more := refused[_SHOWN:]:
            say(f"{counted(len(more), 'more change')} not submitted; --json says why", err=True)
        for hint in dict.fromkeys(row.hint for row in rows if row.hint):
            say(f"  {worded(hint)}", err=True)
        for row in taken[:_SHOWN]:
            say(row.id)
        say(f"Submitted {counted(len(taken), 'change')}. Watch with: spool fleet list")
    unreadable = any(row.unreadable for row in rows)
    return 1 if unreadable or (rows and not taken) else 0
