"""`spool stop`: stops loops and waits until they are gone."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import click

from spool.cli.loops import pick
from spool.errors import UsageError
from spool.host.runner.identity import is_alive
from spool.host.runner.stopping import stop_runner
from spool.host.state.registry import Entry, this_machine


@click.command("stop")
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--all", "-a", "everything", is_flag=True, help="Stop every loop of this user on this machine.")
@click.help_option("-h", "--help")
def stop(names: tuple[str, ...], everything: bool) -> int:
    """Stop loops, and wait until their agents are gone. A loop that has ended already is no error.

    An ID is what `spool ps` shows, or the change.
    """
    if bool(names) == everything:
        raise UsageError("say which loop to stop, or --all", hint="spool ps lists them")
    entries = this_machine().entries()
    return stop_all([entry for entry in entries if is_alive(entry.runner)] if everything else _named(names, entries))


def stop_all(entries: Sequence[Entry]) -> int:
    """Stop all of these at once, tell what became of each, and return the exit code."""
    if not entries:
        click.echo("No loop is running.")
        return 0
    was_running = [entry.running for entry in entries]
    with ThreadPoolExecutor(max_workers=32) as pool:  # each only waits
        gone = list(pool.map(lambda entry: stop_runner(entry.runner), entries))
    for entry, ran, ended in zip(entries, was_running, gone, strict=True):
        _tell(entry, was_running=ran, ended=ended)
    return 0 if all(gone) else 1


def _tell(entry: Entry, *, was_running: bool, ended: bool) -> None:
    name = f"{entry.change} ({entry.short_id})"
    if not ended:
        click.echo(f"{name} could not be stopped: pid {entry.runner.pid} is still there", err=True)
    elif was_running:
        click.echo(f"Stopped {name}.")
    else:
        click.echo(f"{name} is not running: {entry.status}{f', {entry.reason}' if entry.reason else ''}")


def _named(names: tuple[str, ...], entries: list[Entry]) -> list[Entry]:
    found = {entry.run_id: entry for entry in (pick(name, entries) for name in names)}
    return list(found.values())
