"""`spool`: finds the command."""

import sys
from importlib import import_module
from typing import Any

import click

from spool import __version__
from spool.cli.edge import debug_option

_COMMANDS = {
    "ralph": ("spool.cli.ralph:ralph", "Run an agent against a change, again and again, until it is done."),
    "loop": ("spool.cli.ralph:ralph", "The same as ralph."),
    "run": ("spool.cli.run:run", "Walk a change story by story, with checkpoint, revert and retry."),
    "tui": ("spool.cli.tui:tui", "Pick a change, start its loop and watch it, on a full screen."),
    "stories": ("spool.cli.stories:stories", "Show the stories and tasks of a change."),
    "checkpoint": ("spool.cli.checkpoint:checkpoint", "Look at discarded attempts, and get them back."),
    "ps": ("spool.cli.ps:ps", "List the loops that run on this machine."),
    "attach": ("spool.cli.attach:attach", "Watch a loop that runs elsewhere."),
    "logs": ("spool.cli.attach:logs", "Print what a loop has shown so far."),
    "stop": ("spool.cli.stop:stop", "Stop loops, and wait until they are gone."),
    "harness": ("spool.cli.harness:harness", "Show the agents, and check whether one works here."),
    "config": ("spool.cli.config:config", "Show the settings in force, and where each comes from."),
    "demo": ("spool.cli.demo:demo", "Watch a whole loop in a scratch repository: no agent, no key."),
}


class Commands(click.Group):
    """Loads a command only when it is asked for, so that `spool ralph --status` loads little."""

    def __init__(self, *args: Any, table: dict[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names, in the order of the help."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Load one command."""
        if cmd_name not in self._table:
            return None
        module, _, name = self._table[cmd_name][0].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)  # noqa: S101 - a wrong table is our own mistake
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self._table.items()])


@click.group(
    cls=Commands,
    table=_COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 complete, 1 failed, 2 usage, 3 iterations used up, 4 stuck, 130 interrupted.",
)
@click.version_option(__version__, "-V", "--version", prog_name="spool", message="%(prog)s %(version)s")
@debug_option
@click.pass_context
def spool(ctx: click.Context) -> int | None:
    """Run coding agents in a loop, unattended, until the work is really done.

    Without a command, on a terminal, the screen opens: `spool tui`.
    """
    if ctx.invoked_subcommand is not None:
        return None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.exceptions.NoArgsIsHelpError(ctx)
    from spool.cli.tui import show

    return show(None, {})
