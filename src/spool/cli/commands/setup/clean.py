"""`spool clean`: shows and removes what Spool keeps about this repository."""

from datetime import UTC, datetime
from pathlib import Path

import click

from spool.app.machine.footprint import Footprint, KeptLoop, Traces, chosen
from spool.cli.options.groups import Duration
from spool.cli.options.target import on_terminal
from spool.domain.text.plain_text import counted, one_line
from spool.errors import UsageError
from spool.views import words
from spool.views.say import say, say_json
from spool.views.tables import room, table

_HEAD = ("SIZE", "COMMAND", "CHANGE", "STATUS", "ACTIVE")


@click.command("clean")
@click.option("--ended", is_flag=True, help="Remove the state of loops that are done.")
@click.option(
    "--older-than", type=Duration(), metavar="AGE", help="Remove the state of loops not active for 14d, 12h, …."
)
@click.option("--everything", is_flag=True, help="Remove every trace of Spool from this repository.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print what is kept as JSON.")
@click.help_option("-h", "--help")
def clean(ended: bool, older_than: float | None, everything: bool, yes: bool, as_json: bool) -> None:
    """Show what Spool keeps about this repository, with sizes, and remove it if asked to.

    Running loops are left alone, and so is what you wrote: changes, modules and settings. The working tree stays as it
    is, but a story that was not finished cannot be reverted any more.
    """
    if everything and (ended or older_than is not None):
        raise UsageError("--everything cannot be used with --ended or --older-than")
    traces = Traces(Path.cwd())
    found = traces.footprint()
    if as_json:
        say_json(_fields(found))
        return
    if everything:
        traces.refuse_in_use()
        _show(found)
        _confirm(f"Remove all of this, {size(found.bytes)}, from {found.root}?", yes=yes)
        traces.remove_everything()
        kept = " Your changes and settings in .spool are still there." if (found.root / ".spool").is_dir() else ""
        say(f"Removed.{kept}")
    elif ended or older_than is not None:
        picked = chosen(found.loops, ended=ended, older_than_s=older_than, now=datetime.now(UTC))
        _remove(traces, picked, yes=yes)
    else:
        _show(found)


def _fields(found: Footprint) -> dict[str, object]:
    loops = [
        {
            "door": loop.door,
            "change": loop.change,
            "root": str(loop.root),
            "status": loop.status,
            "active_at": loop.active_at,
            "bytes": loop.bytes,
            "paths": [str(path) for path in loop.paths],
        }
        for loop in found.loops
    ]
    return {"root": str(found.root), "bytes": found.bytes, "loops": loops, "shared": found.things}


def _remove(traces: Traces, picked: list[KeptLoop], *, yes: bool) -> None:
    if not picked:
        say("Nothing to remove.")
        return
    _show_loops(picked)
    freed = size(sum(loop.bytes for loop in picked))
    _confirm(f"Remove the state of {counted(len(picked), 'loop')}, {freed}?", yes=yes)
    traces.remove_loops(picked)
    say(f"Removed the state of {counted(len(picked), 'loop')}.")


def _confirm(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not on_terminal():
        raise UsageError("--yes is required in non-interactive mode", hint="it removes without asking")
    click.confirm(question, abort=True, err=True)


def _show(found: Footprint) -> None:
    if found.loops:
        _show_loops(found.loops)
        say()
    for one in found.things:
        say(f"{size(one.bytes) if one.bytes else str(one.count):>9}  {one.what}  ({one_line(one.where, 200)})")
    say(f"{size(found.bytes):>9}  in all" if found.bytes else "Spool keeps nothing about this repository.")


def _show_loops(loops: tuple[KeptLoop, ...] | list[KeptLoop]) -> None:
    now = datetime.now(UTC)
    cells = [
        (
            size(loop.bytes),
            loop.door,
            one_line(loop.change, 60),
            str(loop.status or "unreadable"),
            f"{words.duration((now - loop.active_at).total_seconds())} ago" if loop.active_at else "-",
        )
        for loop in loops
    ]
    say(*table(_HEAD, cells, width=room(), left=_HEAD[1:], drop=("COMMAND", "ACTIVE")))


def size(count: int) -> str:
    """Format bytes: `12 KiB`, `3.4 MiB`."""
    if count < 1 << 20:
        return f"{(count + 1023) >> 10} KiB"
    unit, name = (1 << 30, "GiB") if count >= 1 << 30 else (1 << 20, "MiB")
    return f"{count / unit:.1f} {name}"
