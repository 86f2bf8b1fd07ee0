"""`spool`: dispatches to the subcommands."""

import sys
from importlib import import_module
from typing import Any

import click

from spool import __version__
from spool.cli.capabilities import CAPABILITIES
from spool.cli.edge import debug_option
from spool.cli.options.groups import EXIT_CODES
from spool.domain.text.plain_text import did_you_mean, one_line
from spool.errors import UsageError

_COMMANDS = {
    "init": ("spool.cli.commands.setup.init:init", "Set this repository up: find the agent and the tests."),
    "new": ("spool.cli.commands.plans.new:new", "Make a change, from a template or from a text."),
    "ralph": (
        "spool.cli.commands.start.ralph:ralph",
        "Run an agent on a change in a loop until it promises completion.",
    ),
    "run": ("spool.cli.commands.start.run:run", "Run a change story by story, with checkpoints, reverts and retries."),
    "tui": ("spool.cli.commands.start.tui:tui", "Pick a change, start its loop and watch it, full screen."),
    "verify": (
        "spool.cli.commands.check.verify:verify",
        "Run the checks now, and compare them with where the work began.",
    ),
    "accept": ("spool.cli.commands.check.accept:accept", "Accept work that needs you, as it is in the tree."),
    "land": (
        "spool.cli.commands.check.land:land",
        "Rebase finished changes onto main, check the result, and move main.",
    ),
    "list": ("spool.cli.commands.plans.changes:list_changes", "List the active changes."),
    "show": (
        "spool.cli.commands.plans.changes:show",
        "Show a change: its stories, its loop, and what an agent would stumble over.",
    ),
    "archive": ("spool.cli.commands.plans.changes:archive", "Archive a finished change."),
    "checkpoint": ("spool.cli.commands.check.checkpoint:checkpoint", "List, show and restore discarded attempts."),
    "undo": ("spool.cli.commands.check.undo:undo", "Bring the tree back to where the story or the run began."),
    "workspace": (
        "spool.cli.commands.setup.workspace:workspace",
        "List and remove the worktrees and clones in which loops work.",
    ),
    "ps": ("spool.cli.commands.watch.ps:ps", "List the loops running on this machine."),
    "attach": ("spool.cli.commands.watch.attach:attach", "Watch a running loop."),
    "logs": ("spool.cli.commands.watch.attach:logs", "Print a loop's output so far."),
    "report": (
        "spool.cli.commands.watch.report:report",
        "Report what loops did: verdicts, evidence, time, cost, and what is next.",
    ),
    "stop": ("spool.cli.commands.watch.stop:stop", "Stop loops and wait until they have exited."),
    "harness": ("spool.cli.commands.setup.harness:harness", "List the agents, and check whether one works."),
    "doctor": (
        "spool.cli.commands.setup.doctor:doctor",
        "Examine git, the agents, the disk and what Spool has written.",
    ),
    "clean": ("spool.cli.commands.setup.clean:clean", "Show what Spool keeps about this repository, and remove it."),
    "config": ("spool.cli.commands.setup.config:config", "Show the effective settings and the origin of each."),
    "trust": ("spool.cli.commands.setup.trust:trust", "Show, grant or withdraw trust in this repository's settings."),
    "demo": ("spool.cli.commands.start.demo:demo", "Watch a complete loop in a scratch repository; needs no agent."),
}

_ALIASES = {
    "loop": "spool.cli.commands.start.ralph:ralph",
    "stories": "spool.cli.commands.plans.changes:stories",
    "validate": "spool.cli.commands.plans.changes:validate",
}
"""Names that work and that the help does not list."""

_HEADINGS = {
    "start": "Start",
    "watch": "Watch",
    "check": "Check and land",
    "plans": "Plans",
    "setup": "Set up",
}
"""The headings of the help, in order, by the folder of a command."""


class Commands(click.Group):
    """Imports a command only when it is used, so that `spool ralph --status` starts fast."""

    def __init__(
        self,
        *args: Any,
        table: dict[str, tuple[str, str]],
        aliases: dict[str, str] | None = None,
        headings: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._table = table
        self._targets = {name: target for name, (target, _) in table.items()} | (aliases or {})
        self._headings = headings or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the command names in help order."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import and return a command, or None if it is unknown."""
        if cmd_name not in self._targets:
            return None
        module, _, name = self._targets[cmd_name].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)  # noqa: S101 - a wrong table is our own mistake
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; suggest the one that a mistyped name is closest to, and `run` for a plan file.

        `help` shows the help of what follows it.
        """
        if args == ["help"]:
            from spool.views.say import say_text

            say_text(ctx.get_help())
            ctx.exit()
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        if args and args[0] not in self._targets and not args[0].startswith("-"):
            from shlex import quote

            from spool.domain.change.plan_file.ids import is_plan_name

            near = did_you_mean(args[0], self._table)
            if near or is_plan_name(args[0]):
                hint = near or f"to run a plan: spool run {quote(args[0])}"
                raise UsageError(f"no such command: '{one_line(args[0], 40)}'", hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without loading them."""
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in self._headings.values()}
        for name, (target, summary) in self._table.items():
            folder = target.partition("commands.")[2].partition(":")[0].partition(".")[0]
            sections.setdefault(self._headings.get(folder, "Commands"), []).append((name, summary))
        widest = max(map(len, self._table))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), summary) for name, summary in rows])


@click.group(
    cls=Commands,
    table=_COMMANDS | {one.name: (one.target, one.summary) for one in CAPABILITIES},
    aliases=_ALIASES,
    headings=_HEADINGS | {one.name: one.heading for one in CAPABILITIES},
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(__version__, "-V", "--version", prog_name="spool", message="%(prog)s %(version)s")
@debug_option
@click.pass_context
def spool(ctx: click.Context) -> int | None:
    """Run coding agents in a loop, unattended, until the work is really done.

    In a terminal, `spool` without a command opens `spool tui`.
    """
    if ctx.invoked_subcommand is not None:
        return None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        from spool.cli.commands.start.welcome import nothing_to_show, show_ways

        if not nothing_to_show():
            raise click.exceptions.NoArgsIsHelpError(ctx)
        show_ways()
        return None
    from spool.cli.commands.start.tui import tui

    return int(ctx.invoke(tui))
