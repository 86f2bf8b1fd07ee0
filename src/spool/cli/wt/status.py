"""`wt-loop status` and `wt-loop history`. They start no loop, so they import little."""

import sys
import time
from pathlib import Path

import click
import msgspec

from spool.app.changes.resolver import loop_here, worktree_loop
from spool.app.loops.loop_list import RECENT, LoopReport, history, report, running
from spool.cli.options.flags import takes
from spool.cli.options.loop_options import LocateFlags
from spool.cli.options.target import complete_loop
from spool.domain.loop.loop_file import LoopIteration, iteration_of
from spool.domain.loop.summary import LoopSummary
from spool.views.loop_status import show_report, worktree_table
from spool.views.loop_table import show_loops
from spool.views.say import say, say_json


@click.command("status")
@click.argument("name", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--watch", "-w", is_flag=True, help="Refresh every second until the loop ends.")
@takes(LocateFlags)
def status(name: str | None, as_json: bool, watch: bool, options: LocateFlags) -> None:
    """Show a loop's status, iterations, usage and current activity.

    Without CHANGE, show the loop of the current worktree, or all running loops if it has none.
    """
    while True:
        if name is None and options.path is None and loop_here() is None:
            loops = running()
            _clear(watch=watch and not as_json)
            show_loops(loops, as_json=as_json)
            active = bool(loops)
        else:
            found = _report(worktree_loop(name, options.path, everywhere=options.everywhere))
            _clear(watch=watch and not as_json)
            _show(found, as_json=as_json)
            active = found.loop is not None and found.loop.running
        if not watch or not active:
            return
        time.sleep(1)


@click.command("history")
@click.argument("name", metavar="[CHANGE]", required=False, shell_complete=complete_loop)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@takes(LocateFlags)
def show_history(name: str | None, as_json: bool, options: LocateFlags) -> None:
    """Show all iterations of a loop: duration, why each ended, and its commits."""
    loop = worktree_loop(name, options.path, everywhere=options.everywhere)
    iterations = [iteration_of(record, loop.criterion) for record in history(loop)]
    if as_json:
        say_json(iterations)
        return
    say(*(worktree_table(iterations) if iterations else ["no iteration has ended yet"]))
    for one in iterations:
        for commit in one.commits:
            say(f"{one.n}: {commit}")


def _report(loop: LoopSummary) -> LoopReport:
    found = report(Path(loop.root), loop.door, loop.change)
    return msgspec.structs.replace(found, loop=loop)


def _show(found: LoopReport, *, as_json: bool) -> None:
    show_report(found, as_json=as_json)
    if as_json or found.loop is None or not found.recent:
        return
    recent: list[LoopIteration] = [iteration_of(record, found.loop.criterion) for record in found.recent[-RECENT:]]
    say("", *worktree_table(recent))


def _clear(*, watch: bool) -> None:
    if watch and sys.stdout.isatty():
        click.clear()
