"""`wt-loop`: dispatches to the subcommands."""

import click

from spool import __version__
from spool.cli.edge import debug_option
from spool.cli.main import Commands

_COMMANDS = {
    "start": ("spool.cli.wt.start:start", "Start a loop in a change's worktree, in a new terminal."),
    "status": ("spool.cli.wt.status:status", "Show a loop's status."),
    "list": ("spool.cli.commands.watch.ps:ps", "List the loops running on this machine."),
    "stop": ("spool.cli.wt.loop_commands:stop", "Stop a loop and wait until it has exited."),
    "done": ("spool.cli.wt.loop_commands:done", "Mark a loop's work as done."),
    "logs": ("spool.cli.wt.loop_commands:logs", "Print a loop's log."),
    "attach": ("spool.cli.wt.loop_commands:attach", "Watch a loop in this terminal."),
    "history": ("spool.cli.wt.status:show_history", "Show all iterations of a loop."),
    "resume": ("spool.cli.wt.start:resume", "Continue a loop that has ended."),
}


@click.group(
    cls=Commands,
    table=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='Example: wt-loop start add-auth "Implement the login form" --max 10 --done tasks',
)
@click.version_option(__version__, "-V", "--version", prog_name="wt-loop", message="%(prog)s %(version)s")
@debug_option
def wt_loop() -> None:
    """Run coding agents in loops, one per worktree, each in its own terminal."""
