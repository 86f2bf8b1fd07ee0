"""`spool fleet worker`: takes changes from the queue."""

import asyncio
import os
import sys

import click

from spool.cli.commands.fleet.fleet import AccountName, require_fleet
from spool.cli.commands.fleet.table import step_line
from spool.fleet.values import RunStep, SnapshotMark
from spool.views.hints import worded
from spool.views.say import say, say_json


@click.command("worker")
@click.option(
    "--slots", type=click.IntRange(min=1), default=1, metavar="N", help="Run up to N changes at once.  [default: 1]"
)
@click.option(
    "--account",
    type=AccountName(),
    default="",
    metavar="A",
    help="Take only changes that were submitted for this account.",
)
@click.option("--sandbox", is_flag=True, help="Sandbox the agents and the checks of all changes.")
@click.option("--setup", default="", metavar="CMD", help="Run CMD in each new clone.  [default: worktree_setup]")
@click.option("--once", is_flag=True, help="Take one change, and exit: with 75 if it has not ended.")
@click.option("--name", default="", metavar="NAME", help="Call this host NAME.  [default: the host's name]")
@click.option("--json", "as_json", is_flag=True, help="Print each step as a JSON line.")
def worker(slots: int, account: str, sandbox: bool, setup: str, once: bool, name: str, as_json: bool) -> int:
    """Take changes from the queue and run each in a clone of its own, until Ctrl-C.

    A worker runs the code of whoever may submit. It uses your credentials for the remotes; the agents do not get them.
    """
    require_fleet()
    from spool.fleet.worker.hosts import Host
    from spool.fleet.worker.readiness import check_host
    from spool.fleet.worker.worker import Service

    def tell(line: str, *, hint: str = "") -> None:
        say(line, *([f"  {worded(hint)}"] if hint else []), err=True)

    def report(step: RunStep, mark: SnapshotMark) -> None:
        if as_json:
            say_json({"step": step, "mark": mark})
        elif line := step_line(step, mark):
            say(line)
        sys.stdout.flush()

    host = Host(name=name or os.uname().nodename, sandbox=sandbox, setup=setup)
    check_host(sandbox=sandbox)
    return asyncio.run(Service(host, slots=slots, account=account, once=once, report=report, say=tell).run())
