"""`spool stop`: stops loops and waits until they have exited."""

from collections.abc import Sequence

import click

from spool.app import control
from spool.app.loops import find_loop, with_runner
from spool.domain.loop import LoopSummary
from spool.domain.text import one_line
from spool.errors import UsageError
from spool.views.say import say


@click.command("stop")
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--all", "-a", "everything", is_flag=True, help="Stop all your loops on this machine.")
def stop(names: tuple[str, ...], everything: bool) -> int:
    """Stop loops and wait until their agents have exited.

    ID is an id from `spool ps`, or a change. Stopping a loop that has already ended succeeds.
    """
    if bool(names) == everything:
        raise UsageError("name a loop to stop, or use --all", hint="spool ps lists them")
    if everything:
        return stop_all(with_runner())
    found = {loop.run_id: loop for loop in map(find_loop, names)}
    return stop_all(list(found.values()))


def stop_all(loops: Sequence[LoopSummary]) -> int:
    """Stop these loops, report each, and return the exit code."""
    if not loops:
        say("No loop is running.")
        return 0
    gone = control.stop_all(loops)
    for loop, ended in zip(loops, gone, strict=True):
        _report(loop, ended=ended)
    return 0 if all(gone) else 1


def _report(loop: LoopSummary, *, ended: bool) -> None:
    name = f"{one_line(loop.change, 120)} ({loop.id})"
    if not ended:
        say(f"cannot stop {name}: pid {loop.runner.pid} is still alive", err=True)
    elif loop.running:
        say(f"Stopped {name}.")
    else:
        say(f"{name} is not running: {loop.status}{f', {one_line(loop.reason)}' if loop.reason else ''}")
