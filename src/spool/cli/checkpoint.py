"""`spool checkpoint`: look at what reverts have discarded, and get it back."""

import click
import msgspec

from spool.app import checkpoints
from spool.domain.text import clean, counted, one_line


@click.group("checkpoint")
@click.help_option("-h", "--help")
def checkpoint() -> None:
    """Look at the attempts that a revert has discarded, and get them back.

    They are kept for 14 days.
    """


@checkpoint.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.help_option("-h", "--help")
def list_all(as_json: bool) -> None:
    """List checkpoints that loops hold, and discarded attempts."""
    saved, discarded = checkpoints.list_all()
    if as_json:
        click.echo(msgspec.json.encode({"checkpoints": saved, "discarded": discarded}).decode())
        return
    if not saved and not discarded:
        click.echo("There is no checkpoint, and nothing has been discarded.")
    for kept in saved:
        click.echo(f"checkpoint  {kept.change}  {one_line(kept.label)}  ({kept.saved_at:%Y-%m-%d %H:%M} UTC)")
    for one in discarded:
        click.echo(f"discarded   {one.name}  {counted(one.files, 'file')}  {one_line(one.label)}")


@checkpoint.command()
@click.argument("name")
@click.help_option("-h", "--help")
def show(name: str) -> None:
    """Show what a discarded attempt had changed."""
    click.echo(clean(checkpoints.show(name)).rstrip())


@checkpoint.command()
@click.argument("name")
@click.help_option("-h", "--help")
def diff(name: str) -> None:
    """Print a discarded attempt as a patch."""
    click.echo(checkpoints.diff(name), nl=False)


@checkpoint.command()
@click.argument("name")
@click.help_option("-h", "--help")
def restore(name: str) -> None:
    """Bring a discarded attempt back into the working tree.

    What is in the tree now is discarded in its turn, and kept.
    """
    kept = checkpoints.restore(name)
    click.echo(f"Restored {name}." + (f" What was there is kept as {kept.name}." if kept else ""))
