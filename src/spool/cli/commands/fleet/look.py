"""`spool fleet list` and `show`: what the fleet does."""

import asyncio

import click

from spool.cli.commands.fleet.fleet import require_fleet
from spool.cli.commands.fleet.table import row_lines, table_of
from spool.cli.edge import complain
from spool.errors import Hint
from spool.views.hints import worded
from spool.views.say import say, say_json


@click.command("list")
@click.option("--all", "-a", "everything", is_flag=True, help="List the changes of all repositories.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_rows(everything: bool, as_json: bool) -> None:
    """List the changes of this repository in the fleet; outside a repository, all."""
    require_fleet()
    from spool.fleet.queue.queue import FleetRow, open_queue
    from spool.fleet.queue.steering import repository_here

    async def ask() -> list[FleetRow]:
        repository = "" if everything else await repository_here()
        return await (await open_queue()).rows(repository)

    rows = asyncio.run(ask())
    if as_json:
        say_json(rows)
    elif not rows:
        say("No changes in the fleet.")
    else:
        say(*table_of(rows))


@click.command("show")
@click.argument("name", metavar="CHANGE")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(name: str, as_json: bool) -> int:
    """Show one change in the fleet, with its last iterations. CHANGE is a change of this repository, or its id."""
    require_fleet()
    from spool.fleet.queue.remote_loops import FleetReport, report_of

    found: FleetReport = asyncio.run(report_of(name))
    if as_json:
        say_json(found)
    else:
        say(*row_lines(found.row, found.history))
        if found.unreadable:
            complain(f"its snapshot cannot be read: {found.unreadable}", worded(Hint.FLEET_UNREADABLE))
    return 1 if found.unreadable else 0
