"""`wt-loop stop`, `done`, `logs` and `attach`: commands on a loop that was started."""

import click

from spool.app.changes.resolver import any_loop, worktree_loop
from spool.app.loops.control import ask_to_finish, call_done
from spool.app.loops.reach import reach_of
from spool.cli.commands.watch.attach import attach_to, show_log
from spool.cli.commands.watch.stop import stop_all, within_reach
from spool.cli.options.flags import takes
from spool.cli.options.loop_options import LocateFlags
from spool.cli.options.target import complete_loop
from spool.domain.loop.summary import LoopKind
from spool.domain.text.plain_text import counted
from spool.errors import UsageError
from spool.views import words
from spool.views.say import say

_STOP = "wt-loop stop"


@click.command("stop")
@click.argument("names", metavar="[CHANGE]...", nargs=-1, shell_complete=complete_loop)
@click.option("--all", "-a", "every_one", is_flag=True, help="Stop all loops that wt-loop started in this repository.")
@takes(LocateFlags)
def stop(names: tuple[str, ...], every_one: bool, options: LocateFlags) -> int:
    """Stop a loop and wait until its agent has exited.

    Without CHANGE, stop the loop of the current worktree; --all-projects alone stops those of all projects. Stopping a
    loop that has already ended succeeds and closes its window.
    """
    if every_one and (names or options.path):
        raise UsageError("--all cannot be used with a change or --path")
    if not every_one and (names or options.path or not options.everywhere):
        return stop_all(
            [any_loop(name, options.path, everywhere=options.everywhere) for name in names or (None,)], by=_STOP
        )
    meant = within_reach(reach_of(everywhere=options.everywhere))
    code = stop_all([loop for loop in meant if loop.door is LoopKind.WORKTREE], by=_STOP)
    if others := [loop for loop in meant if loop.door is not LoopKind.WORKTREE and loop.running]:
        say(f"Still running: {counted(len(others), 'loop')} of other commands; stop with: spool stop --all")
    return code


@click.command("done")
@click.argument("name", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@click.option("--now", is_flag=True, help="Stop the current iteration instead of waiting for it.")
@takes(LocateFlags)
def done(name: str | None, now: bool, options: LocateFlags) -> int:
    """Mark a loop's work as done. A running loop ends after the current iteration."""
    loop = worktree_loop(name, options.path, everywhere=options.everywhere)
    if loop.running and not now:
        ask_to_finish(loop)
        say(f"{words.named(loop)} ends as done after this iteration; --now ends it immediately.")
        return 0
    code = stop_all([loop], by="wt-loop done") if loop.running else 0
    if not code:
        call_done(loop)
        say(f"{words.named(loop)} is done.")
    return code


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
