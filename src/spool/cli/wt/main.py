"""`wt-loop`: finds the command."""

import click

from spool import __version__
from spool.cli.main import Commands

_COMMANDS = {
    "start": ("spool.cli.wt.start:start", "Start a loop in a change's worktree, in a terminal of its own."),
    "status": ("spool.cli.wt.status:status", "Show where a loop stands."),
    "list": ("spool.cli.wt.listing:list_loops", "List every loop that runs on this machine."),
    "stop": ("spool.cli.wt.control:stop", "Stop a loop, and wait until it is gone."),
    "done": ("spool.cli.wt.control:done", "Say that the work is done."),
    "logs": ("spool.cli.wt.watching:logs", "Print the log of a loop."),
    "attach": ("spool.cli.wt.watching:attach", "Watch a loop in this terminal."),
    "history": ("spool.cli.wt.status:history", "Show every iteration of a loop."),
    "resume": ("spool.cli.wt.start:resume", "Go on with a loop that has ended."),
}


@click.group(
    cls=Commands,
    table=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='First steps: wt-loop start add-auth "Implement the login form" --max 10 --done tasks',
)
@click.version_option(__version__, "-V", "--version", prog_name="wt-loop", message="%(prog)s %(version)s")
def wt_loop() -> None:
    """Run coding agents in loops, one per worktree, each in a terminal of its own."""
