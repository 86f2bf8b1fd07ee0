"""`wt-loop stop` and `wt-loop done`."""

import click

from spool.app.control import ask_to_finish, call_done
from spool.app.loops import matching, running, with_runner
from spool.app.worktrees import locate
from spool.cli.stop import stop_all
from spool.domain.loop import Door, LoopSummary
from spool.domain.text import counted
from spool.errors import UsageError


@click.command("stop")
@click.argument("names", metavar="[CHANGE]...", nargs=-1)
@click.option("--all", "-a", "everything", is_flag=True, help="Stop every loop that wt-loop started.")
@click.option("--path", metavar="DIR", help="The worktree, where the change's id does not give it.")
@click.help_option("-h", "--help")
def stop(names: tuple[str, ...], everything: bool, path: str | None) -> int:
    """Stop a loop, and wait until its agent is gone. Without a change: the loop of the current worktree.

    Stopping a loop that has ended is not an error; a window that was left open is closed.
    """
    if everything and (names or path):
        raise UsageError("--all and a change do not go together")
    if not everything:
        return stop_all([_named(name, path) for name in names or (None,)])
    code = stop_all([loop for loop in with_runner() if loop.door is Door.WORKTREE])
    if others := len(running()):
        click.echo(f"Still running: {counted(others, 'loop')} of other commands; spool stop --all ends those.")
    return code


@click.command("done")
@click.argument("name", metavar="[CHANGE]", required=False)
@click.option("--now", is_flag=True, help="Do not wait for the iteration that is running.")
@click.option("--path", metavar="DIR", help="The worktree, where the change's id does not give it.")
@click.help_option("-h", "--help")
def done(name: str | None, now: bool, path: str | None) -> int:
    """Call the work done: a running loop ends after this iteration, one that has ended is marked."""
    loop = locate(name, path)
    if loop.running and not now:
        ask_to_finish(loop)
        click.echo(f"{loop.change} ends as done when this iteration is over; --now ends it at once.")
        return 0
    code = stop_all([loop]) if loop.running else 0
    if not code:
        call_done(loop)
        click.echo(f"{loop.change} is done.")
    return code


def _named(name: str | None, path: str | None) -> LoopSummary:
    """Return the loop that is meant; one of another command, where only that has the name."""
    found = matching(name, running()) if name and not path else []
    if found and all(loop.door is not Door.WORKTREE for loop in found):
        return found[0]
    return locate(name, path)
