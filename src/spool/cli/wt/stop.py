"""`wt-loop stop` and `wt-loop done`."""

import click

from spool.app.control import ask_to_finish, call_done
from spool.app.loops import matching, running, with_runner
from spool.app.worktrees import locate
from spool.cli.stop import stop_all
from spool.domain.loop import Door, LoopSummary
from spool.domain.text import counted
from spool.errors import UsageError
from spool.views.say import say


@click.command("stop")
@click.argument("names", metavar="[CHANGE]...", nargs=-1)
@click.option("--all", "-a", "everything", is_flag=True, help="Stop all loops started by wt-loop.")
@click.option("--path", metavar="DIR", help="Use this worktree instead of finding it by change.")
def stop(names: tuple[str, ...], everything: bool, path: str | None) -> int:
    """Stop a loop and wait until its agent has exited.

    Without CHANGE, stop the loop of the current worktree. Stopping a loop that has already ended succeeds and closes
    its window.
    """
    if everything and (names or path):
        raise UsageError("--all cannot be used with a change or --path")
    if not everything:
        return stop_all([_named(name, path) for name in names or (None,)])
    code = stop_all([loop for loop in with_runner() if loop.door is Door.WORKTREE])
    if others := len(running()):
        say(f"Still running: {counted(others, 'loop')} of other commands; stop with: spool stop --all")
    return code


@click.command("done")
@click.argument("name", metavar="[CHANGE]", required=False)
@click.option("--now", is_flag=True, help="Stop the current iteration instead of waiting for it.")
@click.option("--path", metavar="DIR", help="Use this worktree instead of finding it by change.")
def done(name: str | None, now: bool, path: str | None) -> int:
    """Mark a loop's work as done. A running loop ends after the current iteration."""
    loop = locate(name, path)
    if loop.running and not now:
        ask_to_finish(loop)
        say(f"{loop.change} ends as done after this iteration; --now ends it immediately.")
        return 0
    code = stop_all([loop]) if loop.running else 0
    if not code:
        call_done(loop)
        say(f"{loop.change} is done.")
    return code


def _named(name: str | None, path: str | None) -> LoopSummary:
    """Return the named loop; one of another command only if no `wt-loop` loop has the name."""
    found = matching(name, running()) if name and not path else []
    if found and all(loop.door is not Door.WORKTREE for loop in found):
        return found[0]
    return locate(name, path)
