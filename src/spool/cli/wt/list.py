"""`wt-loop list`: every loop on this machine, of every command."""

import click


@click.command("list")
@click.option("--all", "-a", "everything", is_flag=True, help="List finished loops too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.help_option("-h", "--help")
def list_loops(everything: bool, as_json: bool) -> None:
    """List every loop that runs on this machine: its project, change, status, iteration and time."""
    from spool.app.loops import known, running
    from spool.views.loop_table import show_loops

    show_loops(known() if everything else running(), as_json=as_json)
