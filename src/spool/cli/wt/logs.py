"""`wt-loop logs` and `wt-loop attach`."""

import click

from spool.app.loops.loop_list import known, matching
from spool.app.loops.reach import reach_of
from spool.app.loops.worktree_loops import locate
from spool.cli.commands.watch.attach import attach_to, show_log
from spool.cli.options.flags import takes
from spool.cli.options.loop_options import LocateFlags
from spool.cli.options.target import complete_loop
from spool.domain.loop.summary import LoopKind, LoopSummary


@click.command("logs")
@click.argument("name", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@click.option("--follow", "-f", is_flag=True, help="Follow the log as it grows, until the loop ends.")
@takes(LocateFlags)
def logs(name: str | None, follow: bool, options: LocateFlags) -> None:
    """Print the output of a loop, of all iterations."""
    show_log(named_loop(name, options), follow=follow)


@click.command("attach")
@click.argument("name", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@takes(LocateFlags)
def attach(name: str | None, options: LocateFlags) -> int:
    """Watch a loop in this terminal: attach to its tmux session, or print its output until Ctrl-C.

    The loop keeps running when you detach.
    """
    return attach_to(named_loop(name, options))


def named_loop(name: str | None, options: LocateFlags) -> LoopSummary:
    """Return the named loop; a running one of another command only if no `wt-loop` loop has the name."""
    reach = reach_of(everywhere=options.everywhere)
    found = matching(name, known(), reach) if name and not options.path else []
    others = [loop for loop in found if loop.running]
    if others and not any(loop.door is LoopKind.WORKTREE for loop in found):
        return others[0]
    return locate(name, options.path, everywhere=options.everywhere)
