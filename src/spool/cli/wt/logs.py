"""`wt-loop logs` and `wt-loop attach`."""

import click

from spool.app.changes.resolver import any_loop
from spool.cli.commands.watch.attach import attach_to, show_log
from spool.cli.options.flags import takes
from spool.cli.options.loop_options import LocateFlags
from spool.cli.options.target import complete_loop


@click.command("logs")
@click.argument("name", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@click.option("--follow", "-f", is_flag=True, help="Follow the log as it grows, until the loop ends.")
@takes(LocateFlags)
def logs(name: str | None, follow: bool, options: LocateFlags) -> None:
    """Print the output of a loop, of all iterations."""
    show_log(any_loop(name, options.path, everywhere=options.everywhere), follow=follow)


@click.command("attach")
@click.argument("name", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@takes(LocateFlags)
def attach(name: str | None, options: LocateFlags) -> int:
    """Watch a loop in this terminal: attach to its tmux session, or print its output until Ctrl-C.

    The loop keeps running when you detach.
    """
    return attach_to(any_loop(name, options.path, everywhere=options.everywhere))
