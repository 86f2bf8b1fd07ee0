"""`spool`: finds the command, and is the one edge at which errors become exit codes."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from spool import __version__
from spool.errors import SpoolError

_COMMANDS = {
    "ralph": ("spool.cli.ralph:ralph", "Run an agent against a change, again and again, until it is done."),
    "loop": ("spool.cli.ralph:ralph", "The same as ralph."),
    "run": ("spool.cli.run:run", "Walk a change story by story, with checkpoint, revert and retry."),
    "tui": ("spool.cli.tui.command:tui", "Pick a change, start its loop and watch it, on a full screen."),
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
@click.pass_context
def spool(ctx: click.Context) -> int | None:
    """Run coding agents in a loop, unattended, until the work is really done.

    Without a command, on a terminal, the screen opens: `spool tui`.
    """
    if ctx.invoked_subcommand is not None:
        return None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.exceptions.NoArgsIsHelpError(ctx)
    from spool.cli.tui.command import show

    return show(None, {})


def run(command: click.Command = spool, name: str = "spool") -> int:
    """Run a command line and return the exit code."""
    _open_missing_streams()
    forgive_odd_characters()
    return guarded(lambda: command.main(prog_name=name, standalone_mode=False), name)


def guarded(work: Callable[[], object], name: str = "spool") -> int:
    """Do something and return its exit code; whatever goes wrong is told in a line."""
    try:
        code = work()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        usage = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else ""
        complain(error.format_message(), f"see: {usage} --help" if usage else "", name)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except SpoolError as error:
        complain(str(error), error.hint, name)
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        complain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", "", name)
        return 1


def complain(message: str, hint: str, name: str = "spool") -> None:
    """Tell a person what is wrong and what to do, in one line each, on standard error."""
    with suppress(OSError):  # a closed terminal takes no complaint, and must not change the exit code
        click.echo(f"{name}: {message}", err=True)
        if hint:
            click.echo(f"  {hint}", err=True)


def _open_missing_streams() -> None:
    """Lead a closed standard stream nowhere, or the next file that is opened takes its number, and all that is said."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is the missing one
            setattr(sys, name, os.fdopen(number, mode))


def forgive_odd_characters() -> None:
    """Never let a character that the terminal cannot show end a loop."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
