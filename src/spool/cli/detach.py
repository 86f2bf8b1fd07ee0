"""`--detach`: runs a loop in the background, in a session of its own, with its output in a log."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import click

from spool.cli.loops import wait_for_start
from spool.cli.runner import Job, run_job
from spool.domain.verdict import Status
from spool.errors import SpoolError
from spool.host.state.files import FILE_MODE, make_folder
from spool.host.state.registry import Entry, this_machine

START_S = 30.0
"""A runner enters itself within a fraction of a second; a slow git may take its whole timeout first."""


def run_or_detach(job: Job, *, detach: bool) -> int:
    """Run the loop here, or start it in the background and say how to watch it."""
    if not detach:
        return run_job(job)
    registry = this_machine()
    make_folder(registry.folder)
    log = registry.beside(job.run_id, "log")
    pid = _fork(replace(job, terminal="none", log=log), log)
    entry = wait_for_start(job.run_id, seconds=START_S, going=lambda: not _exited(pid))
    if entry is None:
        raise SpoolError("the loop did not start", hint=log.read_text("utf-8", "replace").strip())
    if entry.status is not Status.RUNNING and not entry.iteration:
        raise SpoolError(f"the loop ended at once: {entry.reason}")
    tell_how_to_watch(entry)
    return 0


def tell_how_to_watch(entry: Entry) -> None:
    """Say what a person can do with a loop in the background."""
    click.echo(f"Started {entry.change} in the background ({entry.short_id}, pid {entry.runner.pid}).")
    click.echo(f"  spool attach {entry.short_id}    watch it")
    click.echo(f"  spool logs -f {entry.short_id}   read {entry.log}")
    click.echo(f"  spool stop {entry.short_id}      end it")


def _fork(job: Job, log: Path) -> int:
    """Fork the runner into a session of its own; what was read from standard input is already part of the job."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the runner listens; its own session gets none anyway
        _redirect(log)
        from spool.cli.main import guarded

        code = guarded(lambda: run_job(job))
        sys.stdout.flush()
    finally:
        os._exit(code)


def _redirect(log: Path) -> None:
    nowhere = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
    for target, source in ((0, nowhere), (1, output), (2, output)):
        os.dup2(source, target)
    os.close(nowhere)
    os.close(output)


def _exited(pid: int) -> bool:
    return os.waitpid(pid, os.WNOHANG)[0] != 0
