"""Enters a run into the registry of this machine while it goes on, and tells it how the run ended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from spool.domain.verdict import ExitCode, Finish, Status
from spool.engine.ports import Clock
from spool.errors import SpoolError
from spool.host.git.repository import NoRepository, Repository
from spool.host.runner.identity import this_runner
from spool.host.state.registry import Entry, this_machine
from spool.host.state.store import StateFolder

if TYPE_CHECKING:
    from spool.cli.runner import Job


@contextmanager
def listed(
    job: "Job",
    folder: StateFolder,
    repository: Repository | NoRepository,
    clock: Clock,
    warn: Callable[[str], None],
) -> Iterator[Callable[[Finish], None]]:
    """List the run while the context lasts; the caller tells how it finished, or an error tells it."""
    if not job.listed:
        yield lambda _: None
        return
    _tell_of_killed(folder)
    entry = _entry(job, folder, repository, clock)
    ended = Finish(Status.STOPPED, "ended by an error", ExitCode.FAILED)

    def over(finish: Finish) -> None:
        nonlocal ended
        ended = finish

    _enter(entry, warn)
    try:
        yield over
    except (SpoolError, OSError) as error:
        ended = msgspec.structs.replace(ended, reason=str(error))
        raise
    finally:
        _enter(
            msgspec.structs.replace(
                entry,
                ended_at=max(clock.now(), entry.started_at),
                status=ended.status,
                reason=ended.reason,
                iteration=_iteration(folder),
            ),
            warn,
        )


def _entry(job: "Job", folder: StateFolder, repository: Repository | NoRepository, clock: Clock) -> Entry:
    return Entry(
        run_id=job.run_id,
        runner=this_runner(),
        door=job.door,
        change=job.change_id,
        project=str(repository.main if isinstance(repository, Repository) else job.project.root),
        worktree=str(repository.top if isinstance(repository, Repository) else job.project.root),
        state=str(folder.path),
        terminal=job.terminal,
        log=str(job.log) if job.log else None,
        started_at=clock.now(),
    )


def _tell_of_killed(folder: StateFolder) -> None:
    """Enter how the run before ended, if it was killed: from here on its state is gone, and nobody else can tell."""
    with suppress(SpoolError, OSError):
        state = folder.load()
        entry = this_machine().find(state.run_id) if state else None
        if state is None or entry is None or entry.ended_at is not None:
            return
        this_machine().enter(
            msgspec.structs.replace(
                entry,
                ended_at=max(folder.active_at() or state.updated_at, entry.started_at),
                status=Status.STOPPED,
                reason="its runner died; a later run went on",
                iteration=state.iteration,
            )
        )


def _enter(entry: Entry, warn: Callable[[str], None]) -> None:
    """A home that cannot be written to costs the listing, not the loop."""
    registry = this_machine()
    try:
        registry.enter(entry)
        registry.prune()
    except OSError as error:
        warn(f"this loop is not listed: {error.strerror}: {error.filename}")


def _iteration(folder: StateFolder) -> int:
    with suppress(SpoolError, OSError):
        state = folder.load()
        return state.iteration if state else 0
    return 0
