"""`spool checkpoint`: list, show and restore discarded attempts."""

import click
import msgspec

from spool.app import checkpoints
from spool.domain.text import clean, counted, one_line


@click.group("checkpoint")
def checkpoint() -> None:
    """List, show and restore the attempts that reverts discarded.

    Discarded attempts are kept for 14 days.
    """


@checkpoint.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_all(as_json: bool) -> None:
    """List checkpoints and discarded attempts."""
    saved, discarded = checkpoints.list_all()
    if as_json:
        click.echo(msgspec.json.encode({"checkpoints": saved, "discarded": discarded}).decode())
        return
    if not saved and not discarded:
        click.echo("No checkpoints and no discarded attempts.")
    for kept in saved:
        click.echo(f"checkpoint  {kept.change}  {one_line(kept.label)}  ({kept.saved_at:%Y-%m-%d %H:%M} UTC)")
    for one in discarded:
        click.echo(f"discarded   {one.name}  {counted(one.files, 'file')}  {one_line(one.label)}")


@checkpoint.command()
@click.argument("name")
def show(name: str) -> None:
    """Show the files that a discarded attempt changed."""
    click.echo(clean(checkpoints.show(name)).rstrip())


@checkpoint.command()
@click.argument("name")
def diff(name: str) -> None:
    """Print a discarded attempt as a patch."""
    click.echo(checkpoints.diff(name), nl=False)


@checkpoint.command()
@click.argument("name")
def restore(name: str) -> None:
    """Restore a discarded attempt to the working tree.

    The current tree is saved as a discarded attempt first.
    """
    kept = checkpoints.restore(name)
    click.echo(f"Restored {name}." + (f" The previous tree is kept as {kept.name}." if kept else ""))
