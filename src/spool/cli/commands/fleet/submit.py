"""`spool fleet submit`: puts changes into the queue."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spool.cli.commands.fleet.fleet import AccountName, require_fleet
from spool.cli.options import loop_options as shared
from spool.cli.options.flags import Flags, option_of, takes
from spool.cli.options.groups import Duration, GroupedCommand
from spool.cli.options.target import complete_change, on_terminal, pick_changes
from spool.domain.loop.summary import LoopKind
from spool.domain.text.plain_text import counted
from spool.errors import Hint, UsageError
from spool.views.hints import worded
from spool.views.say import say, say_json

if TYPE_CHECKING:
    from spool.domain.loop.settings import Settings
    from spool.domain.loop.spec import LoopSpec
    from spool.fleet.queue.submission import SubmitOptions, Submitted
    from spool.sources.project import Project

_target = option_of("Input")
_fleet = option_of("Fleet")
_run = option_of("Run")
_SHOWN = 20
"""Changes that are named one by one."""
_EXAMPLES = (
    "spool fleet submit add-auth --harness claude --allow-all",
    "spool fleet submit --all --account team --max-cost 5",
    "spool fleet submit --from-snapshots",
)


class SubmitFlags(Flags, frozen=True, kw_only=True):
    """The options of `spool fleet submit`."""

    every: bool = _target("--all", help="Submit all changes of this repository that have open tasks.")
    module: str | None = shared.MODULE
    from_snapshots: bool = _target(
        "--from-snapshots", help="Submit what has not ended by its snapshots: the queue was lost."
    )
    remote: str = _fleet("--remote", default="", metavar="URL", help="Push results here.  [default: origin]")
    snapshots: str = _fleet(
        "--snapshots", default="", metavar="URL", help="Keep snapshots here.  [default: beside `spool fleet up`]"
    )
    base: str = _fleet("--base", default="", metavar="BRANCH", help="Start from this branch.  [default: main]")
    account: str = _fleet(
        "--account", type=AccountName(), default="", metavar="A", help="Run on workers of this account, within its cap."
    )
    carry_logs: bool = _fleet("--carry-logs", help="Keep the agents' raw output in the snapshots too.")
    heartbeat: float | None = _fleet(
        "--heartbeat", type=Duration(), help="Give a silent host this long.  [default: 60s]"
    )
    sandbox: shared.SandboxFlags
    agent: shared.AgentFlags
    max_retries: int | None = shared.MAX_RETRIES
    budget: shared.BudgetFlags
    limits: shared.AgentLimitFlags
    gates: shared.GateFlags
    command_timeout: float | None = shared.COMMAND_TIMEOUT
    fresh: bool = _run("--fresh", help="Start over, also what is done or begun; commits on change/ID stay.")
    no_interactive: bool = shared.NO_INTERACTIVE
    as_json: bool = shared.JSON


@click.command("submit", cls=GroupedCommand, examples=_EXAMPLES)
@click.argument("changes", metavar="[CHANGE]...", nargs=-1, shell_complete=complete_change)
@takes(SubmitFlags)
def submit(changes: tuple[str, ...], options: SubmitFlags) -> int:
    """Put changes into the queue; workers run them story by story.

    The change travels as it is in your tree, committed or not; your other uncommitted files stay with you. The result
    is pushed to branch change/ID. Settings and checks count as they are now, with the trust you have given them.
    """
    require_fleet()
    from spool.fleet.queue.submission import SubmitOptions

    order = SubmitOptions(
        remote=options.remote,
        snapshots=options.snapshots,
        base=options.base,
        account=options.account,
        carry_logs=options.carry_logs,
        **({"heartbeat_s": options.heartbeat} if options.heartbeat else {}),
    )
    rows = _again(order) if options.from_snapshots else _submitted(order, changes, options)
    return _show(rows, as_json=options.as_json)


def _again(order: "SubmitOptions") -> "list[Submitted]":
    from spool.app.starting.effective_settings import resolve_settings
    from spool.fleet.queue.submission import resubmit

    return resubmit(order, Path.cwd(), timeout_s=resolve_settings(None).settings.command_timeout)


def _submitted(order: "SubmitOptions", changes: tuple[str, ...], options: SubmitFlags) -> "list[Submitted]":
    from spool.fleet.queue.submission import submit as submit_specs

    if bool(changes) == options.every:
        raise UsageError("name the changes to submit, or use --all")
    project, specs, left_out = _specs(changes, options)
    return submit_specs(order, project, specs, left_out)


def _specs(changes: tuple[str, ...], options: SubmitFlags) -> "tuple[Project, list[LoopSpec], dict[str, str]]":
    """Return the changes to submit; with --all, also those that wait for others, and why."""
    from spool.app.starting.batch_members import read_members
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.sources.story_source import require_stories

    project, names = pick_changes(changes, options.module, every=options.every)
    if not names:
        raise UsageError("no changes to submit", hint="name them, or submit all that are open with --all")
    members = read_members(project, names)
    waiting = {one.change: f"it depends on {one.depends_on[0]}" for one in members if one.depends_on}
    if waiting and not options.every:
        first, why = next(iter(waiting.items()))
        raise UsageError(f"{first}: {why}", hint=Hint.FLEET_DEPENDS)
    names = [name for name in names if name not in waiting]
    for name in names:
        require_stories(project.read(name))
    given, ask = shared.loop_settings(options, options.gates), not options.no_interactive and not options.as_json
    settings = settings_to_start(project.root, given, ask=ask and on_terminal()).settings
    return project, [_spec(project, name, settings, options) for name in names], waiting


def _spec(project: "Project", change: str, settings: "Settings", options: SubmitFlags) -> "LoopSpec":
    from spool.app.starting.construction import new_spec
    from spool.domain.loop.spec import Show

    return new_spec(
        LoopKind.RUN,
        project.root,
        change,
        settings,
        fresh=options.fresh,
        show=Show.JSON if options.as_json else Show.STREAM if settings.stream else Show.RESULTS,
        no_gates=options.gates.no_gates,
        gates_given=options.gates.names,
        baseline_given=options.gates.policy.baseline is not None,
    )


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
