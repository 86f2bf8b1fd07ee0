"""`spool ps`: lists the loops on this machine."""

import click


@click.command("ps")
@click.option("--all", "-a", "everything", is_flag=True, help="Include finished loops.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def ps(everything: bool, as_json: bool) -> None:
    """List the loops running on this machine, of all projects and commands."""
    from spool.app.loops.loop_list import known, running
    from spool.views.loop_table import show_loops

    show_loops(known() if everything else running(), as_json=as_json)
