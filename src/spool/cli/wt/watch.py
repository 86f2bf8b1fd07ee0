"""`wt-loop logs` and `wt-loop attach`."""

from pathlib import Path

import click

from spool.app.loops import known, matching
from spool.app.worktrees import locate
from spool.cli.attach import attach_to, print_file, show_log
from spool.domain.loop import Door, LoopSummary


@click.command("logs")
@click.argument("name", metavar="[CHANGE]", required=False)
@click.option("--follow", "-f", is_flag=True, help="Follow the log as it grows, until the loop ends.")
@click.option("--path", metavar="DIR", help="Use this worktree instead of finding it by change.")
def logs(name: str | None, follow: bool, path: str | None) -> None:
    """Print the output of a loop, of all iterations."""
    if (other := _of_another_command(name)) is not None:
        show_log(other, follow=follow)
        return
    loop = locate(name, path)
    print_file(loop, Path(loop.log or ""), follow=follow)


@click.command("attach")
@click.argument("name", metavar="[CHANGE]", required=False)
@click.option("--path", metavar="DIR", help="Use this worktree instead of finding it by change.")
def attach(name: str | None, path: str | None) -> int:
    """Watch a loop in this terminal: attach to its tmux session, or print its output until Ctrl-C.

    The loop keeps running when you detach.
    """
    return attach_to(_of_another_command(name) or locate(name, path))


def _of_another_command(name: str | None) -> LoopSummary | None:
    """Return a running loop of another command, if no `wt-loop` loop has that name."""
    found = matching(name, known()) if name else []
    if any(loop.door is Door.WORKTREE for loop in found):
        return None
    return next((loop for loop in found if loop.running), None)
