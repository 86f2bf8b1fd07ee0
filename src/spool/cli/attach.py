"""`spool attach` and `spool logs`: a late look at a loop that runs elsewhere. Both only read."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import click

from spool.cli.loops import pick, state_of
from spool.cli.views.viewer import Show, View, make_view
from spool.domain.events import Event, RunEnded
from spool.errors import SpoolError
from spool.host.state.journal import JournalReader
from spool.host.state.registry import DIED, Entry, this_machine
from spool.host.state.store import StateFolder

_POLL_S = 0.2
_READ = 1 << 16


@click.command("attach")
@click.argument("name", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON lines.")
@click.help_option("-h", "--help")
def attach(name: str, as_json: bool) -> int:
    """Watch a loop that runs elsewhere, from the start of its run. Ctrl-C ends the watching, not the loop.

    ID is what `spool ps` shows, or the change. The exit code is the loop's.
    """
    return attach_to(pick(name, this_machine().entries()), as_json=as_json)


@click.command("logs")
@click.argument("name", metavar="ID")
@click.option("--follow", "-f", is_flag=True, help="Go on as the log grows, until the loop ends.")
@click.help_option("-h", "--help")
def logs(name: str, follow: bool) -> int:
    """Print what a loop has shown so far."""
    show_log(pick(name, this_machine().entries()), follow=follow)
    return 0


def attach_to(entry: Entry, *, as_json: bool = False) -> int:
    """Show a run from its beginning to its end, and return its exit code."""
    kind, _, session = entry.terminal.partition(":")
    if kind == "tmux" and entry.running and sys.stdout.isatty() and not as_json:
        os.execvp("tmux", ["tmux", "attach-session", "-t", f"={session}"])  # noqa: S606 - no shell is the point
    view = make_view(Show.JSON if as_json else Show.STREAM, verbose=False)
    try:
        return _watch(entry, view, follow=True)
    except KeyboardInterrupt:
        if entry.running:
            click.echo(f"Left {entry.change} alone; it goes on. Stop it with: spool stop {entry.short_id}", err=True)
        return 0


def show_log(entry: Entry, *, follow: bool) -> None:
    """Print the log of a run; a run without one is told from its journal."""
    if entry.log is None:
        from spool.cli.views.lines import PlainView

        _watch(entry, PlainView(stream=True, verbose=True), follow=follow)
        return
    print_file(Path(entry.log), going=lambda: follow and entry.running)


def print_file(path: Path, *, going: Callable[[], bool]) -> None:
    """Copy a file to standard output, and what is added to it while something is `going`."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise SpoolError(f"there is no log at {path}") from None
    with file:
        while True:
            more = going()  # asked before reading: what was written before the end is printed
            while chunk := file.read(_READ):
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            if not more:
                return
            time.sleep(_POLL_S)


def _watch(entry: Entry, view: View, *, follow: bool) -> int:
    exit_code = 0
    try:
        for event in _events(entry, view.tick, follow=follow):
            view.show(event)
            if isinstance(event, RunEnded):
                return event.exit_code
        if follow:
            exit_code = 1
    finally:
        view.close()
    if follow:
        click.echo(f"{entry.change}: {DIED}", err=True)
    return exit_code


def _events(entry: Entry, tick: Callable[[], None], *, follow: bool) -> Iterator[Event]:
    """Give the events of one run, as they come, until it ends or its runner is gone."""
    state = state_of(entry)
    path = StateFolder(Path(entry.state)).journal
    try:
        reader = JournalReader(path, offset=state.journal_offset if state else 0)
    except FileNotFoundError:
        raise SpoolError(f"there is no journal at {path}") from None
    with closing(reader):
        while True:
            going = follow and entry.running
            for event in reader.read():
                if event.run_id == entry.run_id:
                    yield event
            if not going:
                return
            time.sleep(_POLL_S)
            tick()
