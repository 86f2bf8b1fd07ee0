"""`spool fleet stop`, `retry` and `account`."""

import asyncio
from collections.abc import Sequence

import click

from spool.cli.commands.fleet.fleet import AccountName, require_fleet
from spool.domain.text.plain_text import counted, with_reason
from spool.views.say import say, say_json


@click.command("stop")
@click.argument("names", metavar="CHANGE...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def stop(names: tuple[str, ...], as_json: bool) -> int:
    """Stop changes, and wait until their agents have exited. CHANGE is a change of this repository, or its id."""
    return stop_in_fleet(names, as_json=as_json)


def stop_in_fleet(names: Sequence[str], *, as_json: bool = False) -> int:
    """Stop changes in the fleet, say how each ended, and return the exit code."""
    require_fleet()
    from spool.fleet.queue.steering import stop_changes

    rows = asyncio.run(stop_changes(names))
    if as_json:
        say_json(rows)
    else:
        say(*(f"{row.id}: {with_reason(row.status, row.reason)}" for row in rows))
    return 1 if any(row.status in ("running", "waiting") for row in rows) else 0


@click.command("retry")
@click.argument("names", metavar="CHANGE...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def retry(names: tuple[str, ...], as_json: bool) -> int:
    """Continue changes that are stuck, stopped or failed, from their last snapshots.

    A change that is done, and whose branch could not be updated (exit code 5), is pushed again.
    """
    require_fleet()
    from spool.fleet.queue.steering import retry_changes

    found = asyncio.run(retry_changes(names))
    if as_json:
        say_json(found)
        return 1 if any(found.values()) else 0
    for change_id, refused in found.items():
        say(f"{change_id}: {refused or 'back in the queue'}", err=bool(refused))
    return 1 if any(found.values()) else 0


@click.command("account")
@click.argument("name", type=AccountName(), metavar="A")
@click.option("--cap", type=click.IntRange(min=0), metavar="N", help="Run at most N changes at once; 0 for no limit.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def account(name: str, cap: int | None, as_json: bool) -> None:
    """Show an account, or limit how many of its changes run at once on all hosts together."""
    require_fleet()
    from spool.fleet.queue.steering import account_standing

    standing = asyncio.run(account_standing(name, cap))
    if as_json:
        say_json(standing)
        return
    limit = f"at most {standing.cap} at once" if standing.cap else "no limit"
    running, waiting = counted(len(standing.running), "change"), len(standing.changes)
    say(f"{name}: {limit}, {running} running, {waiting} waiting.")
