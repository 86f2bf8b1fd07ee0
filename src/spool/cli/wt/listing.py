"""`wt-loop list`: every loop on this machine, of every command."""

import click

from spool.cli.loops import row, show_rows
from spool.host.state.registry import this_machine


@click.command("list")
@click.option("--all", "-a", "everything", is_flag=True, help="Show finished loops too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.help_option("-h", "--help")
def list_loops(everything: bool, as_json: bool) -> None:
    """List every loop that runs on this machine: its project, change, status, iteration and time."""
    entries = this_machine().entries() if everything else this_machine().running()
    show_rows([row(entry) for entry in entries], as_json=as_json, nothing="No loop is running.")
