"""`wt-loop`: finds the command."""

import click

from spool import __version__
from spool.cli.edge import debug_option
from spool.cli.main import Commands

_COMMANDS = {
    "start": ("spool.cli.wt.start:start", "Start a loop in a change's worktree, in a terminal of its own."),
    "status": ("spool.cli.wt.status:status", "Show where a loop stands."),
    "list": ("spool.cli.wt.list:list_loops", "List every loop that runs on this machine."),
    "stop": ("spool.cli.wt.stop:stop", "Stop a loop, and wait until it is gone."),
    "done": ("spool.cli.wt.stop:done", "Say that the work is done."),
    "logs": ("spool.cli.wt.watch:logs", "Print the log of a loop."),
    "attach": ("spool.cli.wt.watch:attach", "Watch a loop in this terminal."),
    "history": ("spool.cli.wt.status:show_history", "Show every iteration of a loop."),
    "resume": ("spool.cli.wt.start:resume", "Continue a loop that has ended."),
}


@click.group(
    cls=Commands,
    table=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='First steps: wt-loop start add-auth "Implement the login form" --max 10 --done tasks',
)
@click.version_option(__version__, "-V", "--version", prog_name="wt-loop", message="%(prog)s %(version)s")
@debug_option
def wt_loop() -> None:
    """Run coding agents in loops, one per worktree, each in a terminal of its own."""
