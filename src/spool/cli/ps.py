"""`spool ps`: lists the loops on this machine."""

import click

from spool.cli.loops import row, show_rows
from spool.host.state.registry import this_machine


@click.command("ps")
@click.option("--all", "-a", "everything", is_flag=True, help="Show finished loops too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.help_option("-h", "--help")
def ps(everything: bool, as_json: bool) -> None:
    """List the loops that run on this machine, of every project and every command."""
    entries = this_machine().entries() if everything else this_machine().running()
    show_rows([row(entry) for entry in entries], as_json=as_json, nothing="No loop is running.")
