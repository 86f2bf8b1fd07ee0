"""`spool checkpoint`: list, show and restore discarded attempts."""

from datetime import datetime
from pathlib import Path

import click

from spool.app.loops import discarded_attempts
from spool.cli.options.target import completing
from spool.domain.text.plain_text import clean
from spool.views.live.estimates import WorkLine
from spool.views.say import say, say_json, say_text
from spool.views.tables import room, table


@completing
def complete_checkpoint() -> list[str]:
    """Return the names of the discarded attempts."""
    return [one.name for one in [*discarded_attempts.list_all()[1], *discarded_attempts.list_accepted()]]


@click.group("checkpoint")
def checkpoint() -> None:
    """List, show and restore the attempts that reverts discarded.

    Discarded attempts are kept for 14 days.
    """


@checkpoint.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_all(as_json: bool) -> None:
    """List checkpoints and discarded attempts.

    The beginnings of accepted stories are listed as well, except with --json.
    """
    saved, discarded = discarded_attempts.list_all()
    if as_json:
        say_json({"checkpoints": saved, "discarded": discarded})
        return
    if due := discarded_attempts.find_due():
        say(
            f"The restore of {due} was cut short; the next spool run, land or checkpoint restore finishes it.", err=True
        )
    begun = discarded_attempts.list_accepted()
    if not saved and not discarded and not begun:
        say("No checkpoints and no discarded attempts.")
        return
    head = ("kind", "name", "files", "at")
    rows = [("checkpoint", kept.change, "-", _when(kept.saved_at)) for kept in saved]
    rows += [("discarded", one.name, str(one.files), _when(one.discarded_at)) for one in discarded]
    rows += [("beginning", one.name, str(one.files), _when(one.discarded_at)) for one in begun]
    notes = [kept.label for kept in saved] + [one.label for one in [*discarded, *begun]]
    say(*table(head, rows, width=room(), left=head[:2], drop=("at", "files"), notes=notes, noted="of"))


def _when(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


@checkpoint.command()
@click.argument("name", shell_complete=complete_checkpoint)
def show(name: str) -> None:
    """Show the files that a discarded attempt changed."""
    say_text(discarded_attempts.show(name))


@checkpoint.command(short_help="Print a discarded attempt as a patch.")
@click.argument("name", shell_complete=complete_checkpoint)
@click.option("--output", "-o", metavar="FILE", help="Write the exact patch to a file.")
def diff(name: str, output: str | None) -> None:
    """Print a discarded attempt as a patch, without the control characters in it.

    With --output, write the exact patch to a file, for `git apply`.
    """
    patch = discarded_attempts.diff(name)
    if output is not None:
        Path(output).write_bytes(patch.encode("utf-8", "surrogateescape"))
        return
    say_text(patch)
    if clean(patch) != patch:
        say("Control characters are left out; --output FILE writes the exact patch.", err=True)


@checkpoint.command()
@click.argument("name", shell_complete=complete_checkpoint)
def restore(name: str) -> None:
    """Restore a discarded attempt to the working tree.

    The current tree is saved as a discarded attempt first.
    """
    with WorkLine() as line:
        kept = discarded_attempts.restore(name, line.advance)
    say(f"Restored {name}." + (f" The previous tree is kept as {kept.name}." if kept else ""))
