"""`spool attach` and `spool logs`: show a loop that runs in another process. Both only read."""

import os
import sys
from pathlib import Path

import click

from spool.app.changes.resolver import require_loop
from spool.app.loops.following import events_of, log_of
from spool.app.loops.loop_list import is_running, running, why_ended
from spool.app.loops.reach import Reach, reach_of
from spool.app.observing.observers import Observer
from spool.cli.capabilities import remote_of
from spool.cli.options.flags import takes
from spool.cli.options.loop_options import ReachFlags
from spool.cli.options.target import complete_loop
from spool.domain.loop.events import RunEnded
from spool.domain.loop.spec import Show
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import one_line
from spool.errors import Hint, UsageError
from spool.views import words
from spool.views.live.view_choice import terminal_view
from spool.views.say import copy_out, say


@click.command("attach")
@click.argument("name", metavar="[ID]", required=False, shell_complete=complete_loop)
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON lines.")
@takes(ReachFlags)
def attach(name: str | None, as_json: bool, options: ReachFlags) -> int:
    """Watch a running loop, from the start of its run. Ctrl-C detaches and leaves the loop running.

    ID is an id from `spool ps`, that of a loop on another host, or a change of this repository. Exits with the loop's
    exit code.

    Without ID, watch all running loops of this repository on the full screen, and switch between them with [ and ].
    """
    reach = reach_of(options.path, everywhere=options.everywhere)
    if name is not None:
        remote_id = _elsewhere(name, reach)
        if (remote := remote_of(remote_id)) is not None:
            view = terminal_view(Show.JSON if as_json else Show.STREAM, verbose=False)
            return remote.watch(remote_id, view, follow=True)
        return attach_to(require_loop(name, reach), as_json=as_json)
    if as_json:
        raise UsageError("--json takes one loop", hint="give its id; spool ps lists them")
    return _on_screen(reach)


def _on_screen(reach: Reach) -> int:
    """Open the screen on the loop that was started last."""
    from spool.cli.commands.setup.trust import settings_to_start
    from spool.cli.commands.start.tui import again_with, open_screen, require_terminal

    loops = [loop for loop in running() if reach.holds(loop)]
    if not loops:
        raise UsageError("no loop is running here", hint=Hint.LIST_LOOPS)
    require_terminal()
    latest = max(loops, key=lambda loop: loop.started_at)
    root = Path(latest.root)
    settings = settings_to_start(root, ask=True).settings  # a loop can be started there as well
    from spool.app.loops.client import Client
    from spool.sources.project import Project

    return open_screen(Client(Project(root), settings, again=again_with(settings)), loop=latest)


@click.command("logs")
@click.argument("name", metavar="ID", shell_complete=complete_loop)
@click.option("--follow", "-f", is_flag=True, help="Follow the log as it grows, until the loop ends.")
@takes(ReachFlags)
def logs(name: str, follow: bool, options: ReachFlags) -> int:
    """Print a loop's output so far.

    ID is an id from `spool ps`, that of a loop on another host, or a change of this repository.
    """
    reach = reach_of(options.path, everywhere=options.everywhere)
    remote_id = _elsewhere(name, reach)
    if (remote := remote_of(remote_id)) is not None:
        from spool.views.live.line_view import PlainView

        remote.watch(remote_id, PlainView(stream=True, verbose=True), follow=follow)
        return 0
    show_log(require_loop(name, reach), follow=follow)
    return 0


def _elsewhere(name: str, reach: Reach) -> str:
    """Return the remote id of a loop whose files are not here: on another host, or gone with their clone."""
    if remote_of(name) is not None:
        return name
    loop = require_loop(name, reach)
    return "" if Path(loop.folder).exists() else loop.fleet_id


def attach_to(loop: LoopSummary, *, as_json: bool = False) -> int:
    """Show a run from start to end and return its exit code."""
    kind, _, session = loop.terminal.partition(":")
    if kind == "tmux" and loop.running and sys.stdout.isatty() and not as_json:
        os.execvp("tmux", ["tmux", "attach-session", "-t", f"={session}"])  # noqa: S606 - no shell is the point
    _head(loop)
    view = terminal_view(Show.JSON if as_json else Show.STREAM, verbose=False)
    try:
        return _watch(loop, view, follow=True)
    except KeyboardInterrupt:
        if is_running(loop):
            say(f"Detached; {words.named(loop)} is still running. Stop it with: spool stop {loop.id}", err=True)
        return 0


def show_log(loop: LoopSummary, *, follow: bool) -> None:
    """Print a run's log, or replay its journal if it has no log."""
    _head(loop)
    if loop.log is None:
        from spool.views.live.line_view import PlainView

        _watch(loop, PlainView(stream=True, verbose=True), follow=follow)
        return
    print_file(loop, Path(loop.log), follow=follow)


def print_file(loop: LoopSummary, path: Path, *, follow: bool) -> None:
    """Copy a file to standard output; `follow` continues while the loop runs."""
    copy_out(log_of(path, lambda: follow and is_running(loop)))


def _watch(loop: LoopSummary, view: Observer, *, follow: bool) -> int:
    try:
        for event in events_of(loop, view.tick, follow=follow):
            view.see(event)
            if isinstance(event, RunEnded):
                return event.exit_code
    finally:
        view.close()
    if not follow:
        return 0
    say(f"{words.named(loop)}: {one_line(why_ended(loop))}", err=True)
    return 1


def _head(loop: LoopSummary) -> None:
    """Say which loop this is, on standard error: standard output has only its output."""
    say(words.named(loop), err=True)
