"""`wt-loop logs` and `wt-loop attach`."""

from typing import Any

import click

from spool.app.loops.loop_list import known, matching
from spool.app.loops.reach import reach_of
from spool.app.loops.worktree_loops import locate
from spool.cli.commands.watch.attach import attach_to, show_log
from spool.cli.options.loop_options import LOCATE_OPTIONS, together
from spool.cli.options.target import complete_loop
from spool.domain.loop.summary import LoopKind, LoopSummary


@click.command("logs")
@click.argument("name", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@click.option("--follow", "-f", is_flag=True, help="Follow the log as it grows, until the loop ends.")
@together(LOCATE_OPTIONS)
def logs(name: str | None, follow: bool, **where: Any) -> None:
    """Print the output of a loop, of all iterations."""
    show_log(named_loop(name, **where), follow=follow)


@click.command("attach")
@click.argument("name", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@together(LOCATE_OPTIONS)
def attach(name: str | None, **where: Any) -> int:
    """Watch a loop in this terminal: attach to its tmux session, or print its output until Ctrl-C.

    The loop keeps running when you detach.
    """
    return attach_to(named_loop(name, **where))


def named_loop(name: str | None, path: str | None, *, everywhere: bool) -> LoopSummary:
    """Return the named loop; a running one of another command only if no `wt-loop` loop has the name."""
    found = matching(name, known(), reach_of(everywhere=everywhere)) if name and not path else []
    if any(loop.door is LoopKind.WORKTREE for loop in found):
        return locate(name, path, everywhere=everywhere)
    return next((loop for loop in found if loop.running), None) or locate(name, path, everywhere=everywhere)
