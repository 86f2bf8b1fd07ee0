"""Opens a terminal for a loop and waits until the loop runs in it."""

import os
import subprocess
import sys
from pathlib import Path

import click
import msgspec

from spool.cli.loops import wait_for_start
from spool.cli.runner import new_run_id, require_program
from spool.cli.wt.job import settings_for
from spool.cli.wt.request import Request, Ticket, this_environment, write_ticket
from spool.domain.settings import Settings
from spool.domain.text import one_line
from spool.domain.verdict import Status
from spool.errors import LockedError, SpoolError
from spool.harness import registry as harnesses
from spool.host.git.checkouts import common_dir
from spool.host.state import loop_book
from spool.host.state.registry import Entry, this_machine
from spool.host.terminals import NONE, TMUX, Terminal, Window, choose, launch
from spool.sources.project import bare_project

START_S = 30.0
"""A runner is there within a second; a desktop that has just been logged into may take its time."""


def begin(request: Request, *, fresh: bool) -> Entry:
    """Start the loop in a terminal of its own, and return it once it runs."""
    root = Path(request.worktree)
    settings = settings_for(root, request.flags).settings
    _refuse(request, settings)
    loop_book.hide_own_files(common_dir(root))
    ticket = Ticket(
        request=request,
        run_id=new_run_id(),
        terminal="",
        fresh=fresh,
        keep_open=settings.keep_open,
        environment=this_environment(),
    )
    terminals = choose(settings.terminal, os.environ, this_machine().folder)
    path = this_machine().beside(ticket.run_id, "ticket")
    try:
        for number, terminal in enumerate(terminals, 1):
            entry = _try(terminal, ticket, path, settings)
            if isinstance(entry, Entry):
                return _checked(entry)
            if number == len(terminals):
                raise SpoolError(f"the loop did not start in {terminal.name}", hint=entry)
            click.echo(f"wt-loop: {terminal.name} could not be opened: {entry}", err=True)
        raise SpoolError("there is no terminal to open")
    finally:
        path.unlink(missing_ok=True)


def tell_started(entry: Entry) -> None:
    """Say where the loop runs, and what a person can do with it."""
    kind, _, session = entry.terminal.partition(":")
    where = {NONE: "in the background", TMUX: f"in the tmux session {session}"}.get(kind, f"in a new {kind} window")
    click.echo(f"Started {entry.change} {where} (pid {entry.runner.pid}), in {entry.worktree}")
    if kind == TMUX:
        click.echo(f"  tmux attach -t {session}")
    click.echo(f"  wt-loop attach {entry.change}    watch it here")
    click.echo(f"  wt-loop status {entry.change}    where it stands")
    click.echo(f"  wt-loop stop {entry.change}      end it")


def _refuse(request: Request, settings: Settings) -> None:
    """Refuse before a window opens what the runner would refuse in it."""
    root = Path(request.worktree)
    bare_project(root)
    loop_book.refuse_links(root)
    loop_book.read_loop(root)
    require_program(harnesses.find(settings.harness, settings.harnesses))
    for other in this_machine().running():
        if Path(other.worktree).resolve() == root.resolve():
            raise LockedError(
                f"a loop on '{other.change}' already runs in {other.worktree} "
                f"(pid {other.runner.pid}, since {other.started_at:%H:%M:%S} UTC)",
                hint=f"watch it with: wt-loop attach {other.change}, end it with: wt-loop stop {other.change}",
            )


def _try(terminal: Terminal, ticket: Ticket, path: Path, settings: Settings) -> Entry | str:
    """Open one terminal; return the run that began in it, or why none did."""
    request = ticket.request
    session = f"wt-{request.change_id}-{ticket.run_id.rpartition('-')[2]}".replace(".", "_")
    named = f"{TMUX}:{session}" if terminal.name == TMUX else terminal.name
    write_ticket(path, msgspec.structs.replace(ticket, terminal=named))
    window = Window(
        command=(sys.executable, "-P", "-m", "spool.cli.wt.child", str(path)),
        title=request.change_id,
        directory=request.worktree,
        session=session,
        fullscreen=settings.fullscreen,
    )
    if settings.fullscreen and not terminal.fullscreen:
        click.echo(f"wt-loop: {terminal.name} cannot be told to fill the screen", err=True)
    log = this_machine().beside(ticket.run_id, "log")
    process = launch(terminal, window, os.environ, log)
    # tmux and some desktops' terminals leave at once, with code 0, when the window is on its way.
    entry = wait_for_start(
        ticket.run_id, seconds=START_S, going=lambda: not _failed(process, background=terminal.name == NONE)
    )
    if entry is not None:
        return entry
    said = one_line(log.read_text("utf-8", "replace")[-2_000:], 400)
    return said or f"nothing happened within {START_S:g} s"


def _failed(process: subprocess.Popen[bytes], *, background: bool) -> bool:
    code = process.poll()
    return code is not None and (code != 0 or background)


def _checked(entry: Entry) -> Entry:
    if entry.ended_at is not None and entry.status is Status.STOPPED and not entry.iteration:
        raise SpoolError(f"the loop did not start: {entry.reason}")
    return entry
