"""`spool stop`: stops loops and waits until they have exited."""

from collections.abc import Sequence

import click

from spool.app.changes.resolver import require_loop
from spool.app.loops import control
from spool.app.loops.loop_list import with_runner
from spool.app.loops.reach import Reach, reach_of
from spool.cli.capabilities import remote_of
from spool.cli.options.flags import takes
from spool.cli.options.loop_options import ReachFlags
from spool.cli.options.target import complete_loop
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import counted, one_line, with_reason
from spool.errors import UsageError
from spool.views import words
from spool.views.say import say

_STOP = "spool stop"


@click.command("stop")
@click.argument("names", metavar="[ID]...", nargs=-1, shell_complete=complete_loop)
@click.option("--all", "-a", "every_one", is_flag=True, help="Stop all loops of this repository.")
@takes(ReachFlags)
def stop(names: tuple[str, ...], every_one: bool, options: ReachFlags) -> int:
    """Stop loops and wait until their agents have exited.

    ID is an id from `spool ps`, that of a loop on another host, or a change of this repository; --all-projects alone
    stops all loops on this machine. Stopping a loop that has already ended succeeds.
    """
    if bool(names) == (every_one or (options.everywhere and not names)):
        raise UsageError("name a loop to stop, or use --all", hint="spool ps lists them")
    reach = reach_of(options.path, everywhere=options.everywhere)
    if not names:
        return stop_all(within_reach(reach), by=_STOP)
    remote = next(filter(None, map(remote_of, names)), None)
    if remote is None:
        return _stop_here(names, reach)
    elsewhere = [name for name in names if remote.is_id(name)]
    code = remote.stop(elsewhere)
    here = [name for name in names if name not in elsewhere]
    return code if not here else max(code, _stop_here(here, reach))


def _stop_here(names: Sequence[str], reach: Reach) -> int:
    found = {loop.run_id: loop for loop in (require_loop(name, reach) for name in names)}
    return stop_all(list(found.values()), by=_STOP)


def within_reach(reach: Reach) -> list[LoopSummary]:
    """Return the loops to stop, and say how many run in other projects."""
    alive = with_runner()
    meant = [loop for loop in alive if reach.holds(loop)]
    if others := [loop for loop in alive if loop.running and not reach.holds(loop)]:
        say(f"In other projects: {counted(len(others), 'loop')}; --all-projects stops them too.", err=True)
    return meant


def stop_all(loops: Sequence[LoopSummary], *, by: str) -> int:
    """Stop these loops, report each, and return the exit code."""
    if not loops:
        say("No loop is running.")
        return 0
    gone = control.stop_all(loops, by=by)
    for loop, ended in zip(loops, gone, strict=True):
        _report(loop, ended=ended)
    return 0 if all(gone) else 1


def _report(loop: LoopSummary, *, ended: bool) -> None:
    name = words.named(loop)
    if not ended:
        say(f"cannot stop {name}: pid {loop.runner.pid} is still alive", err=True)
    elif loop.running:
        say(f"Stopped {name}.")
    else:
        say(f"{name} is not running: {with_reason(loop.status, one_line(loop.reason), between=', ')}")
