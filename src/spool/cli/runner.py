"""Puts the parts of a loop together and runs it: the composition root."""

import asyncio
import os
import secrets
import shlex
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

import click

from spool.cli.target import invoked_as
from spool.cli.views.viewer import Viewer, make_view
from spool.domain.change import Change
from spool.domain.events import Event, IterationEnded, Warned
from spool.domain.outcome import OutcomeKind
from spool.domain.settings import Settings
from spool.domain.state import IterationRecord, LoopState, Phase
from spool.domain.stream import Usage
from spool.domain.verdict import ExitCode, Finish, Limits, Status
from spool.engine.iteration import Patience
from spool.engine.loop import Agency, Loop
from spool.engine.ports import Emit, Harness, Ports
from spool.engine.ralph import RalphPlan
from spool.engine.stop import Stop
from spool.errors import SpoolError, UnreadableState
from spool.harness import registry
from spool.host.agents import AgentHost
from spool.host.clock import SystemClock
from spool.host.git import NoRepository, Repository, find_repository
from spool.host.identity import this_runner
from spool.host.journal import JournalWriter
from spool.host.lock import Holder, held
from spool.host.store import StateFolder
from spool.host.supervisor import fork_supervisor
from spool.host.worktree import GitWorktree, PlainFolder
from spool.sources.project import Project

_KEEP_S = 1.0


class View(Enum):
    """What is shown of a running loop."""

    STREAM = auto()
    RESULTS = auto()
    JSON = auto()


@dataclass(frozen=True, kw_only=True)
class Job:
    """All that a person asked for."""

    project: Project
    change_id: str
    settings: Settings
    user_prompt: str
    fresh: bool = False
    view: View = View.STREAM
    verbose: bool = False


def run_job(job: Job) -> int:
    """Run a loop in this process and return the exit code."""
    harness = registry.find(job.settings.harness, job.settings.harnesses)
    require_program(harness)
    job.project.read(job.change_id)
    supervisor, line = fork_supervisor()  # before asyncio and before any thread
    finish = asyncio.run(_Run(job, harness, supervisor, line).run())
    if finish.exit_code is ExitCode.INTERRUPTED:
        with suppress(OSError):  # the terminal may be what went away
            click.echo(f"Stopped. Go on with:\n  {resume_command()}", err=True)
    return int(finish.exit_code)


def require_program(harness: Harness) -> None:
    """Refuse before anything is written if the agent is not there."""
    program = harness.traits.program
    if shutil.which(program) is None:
        raise SpoolError(f"{program} is not installed, or not on PATH", hint=f"install it: {harness.traits.install}")


def resume_command() -> str:
    """Return the command line that goes on with this loop."""
    return shlex.join(word for word in invoked_as() if word != "--fresh")


class _Run:
    """One run, from taking the locks to letting them go."""

    def __init__(self, job: Job, harness: Harness, supervisor: int, line: socket.socket) -> None:
        self._job = job
        self._harness = harness
        self._supervisor = supervisor
        self._line = line
        self._clock = SystemClock()
        self._run_id = f"{self._clock.now():%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
        self._warnings: list[str] = []
        self._unfinished: IterationRecord | None = None

    async def run(self) -> Finish:
        """Take the locks and run the loop."""
        root = self._job.project.root
        repository = await find_repository(root, timeout_s=self._job.settings.command_timeout)
        # The view outlives the locks: a reader that stands still holds up what is shown, not the next run.
        with ExitStack() as views, self._locked(repository):
            folder = open_folder(self._job.project, self._job.change_id, repository)
            return await self._in_folder(folder, repository, views)

    @contextmanager
    def _locked(self, repository: Repository | NoRepository) -> Iterator[None]:
        project = self._job.project
        holder = Holder(
            runner=this_runner(),
            run_id=self._run_id,
            change=self._job.change_id,
            directory=str(project.root),
            since=self._clock.now(),
        )
        if isinstance(repository, Repository):
            locks, tree = repository.spool_dir / "locks", repository.top
        else:
            locks, tree = project.state / "locks", project.root
        with held(locks, [tree, state_path(project, self._job.change_id)], holder):
            yield

    async def _in_folder(self, folder: StateFolder, repository: Repository | NoRepository, views: ExitStack) -> Finish:
        folder.prepare()
        earlier = self._earlier(folder)
        journal = JournalWriter(folder.journal, run_id=self._run_id, clock=self._clock)
        folder.link()
        job = self._job
        host = AgentHost(
            self._supervisor,
            self._line,
            directory=job.project.root,
            logs=folder.logs,
            environment=self._environment(),
        )
        stop = Stop()
        view = make_view(job.view.name, verbose=job.verbose)
        viewer = views.enter_context(Viewer(folder.journal, journal.offset, view))
        with _signals(stop, host):

            def emit(event: Event) -> None:
                journal.emit(event)
                viewer.notice()

            for warning in self._warnings:
                emit(Warned(message=warning))
            if self._unfinished is not None and not journal.has_ended(self._unfinished.iteration):
                emit(IterationEnded(record=self._unfinished))
            ports = Ports(
                agents=host, store=folder, emit=emit, worktree=self._worktree(repository, emit), clock=self._clock
            )
            keeper = asyncio.create_task(_keep(folder))
            try:
                return await Loop(
                    self._plan(folder), self._agency(), ports, stop, self._state(earlier, folder, journal.offset)
                ).run()
            finally:
                keeper.cancel()
                host.close()
                journal.close()

    def _earlier(self, folder: StateFolder) -> LoopState | None:
        """Return the state to go on from, after putting aside what is damaged or unwanted."""
        if self._job.fresh:
            folder.start_fresh(self._run_id)
        try:
            earlier = folder.load()
        except UnreadableState as error:
            self._warnings.append(f"{error}; it is kept as {folder.set_aside().name}")
            return None
        self._unfinished = folder.recover(earlier, now=self._clock.now())
        if self._unfinished is not None and self._unfinished.outcome is OutcomeKind.INTERRUPTED:
            self._warnings.append(f"iteration {self._unfinished.iteration} of an earlier run was interrupted")
        return earlier

    def _state(self, earlier: LoopState | None, folder: StateFolder, offset: int) -> LoopState:
        settings, now = self._job.settings, self._clock.now()
        return LoopState(
            change=self._job.change_id,
            module=self._job.project.read(self._job.change_id).module,
            harness=self._harness.name,
            model=settings.model,
            status=Status.RUNNING,
            phase=Phase.ENDED,
            phase_since=now,
            iteration=max(earlier.iteration if earlier else 0, folder.last_iteration()),
            limits=_limits(settings),
            completion_promise=settings.completion_promise,
            run_id=self._run_id,
            runner=this_runner(),
            journal_offset=offset,
            started_at=now,
            updated_at=now,
            usage=earlier.usage if earlier else Usage(),
        )

    def _plan(self, folder: StateFolder) -> RalphPlan:
        settings = self._job.settings

        async def read_change() -> Change:
            return await asyncio.to_thread(self._job.project.read, self._job.change_id)

        return RalphPlan(
            user_prompt=self._job.user_prompt,
            promise=settings.completion_promise,
            limits=_limits(settings),
            question_tool=self._harness.traits.question_tool,
            read_change=read_change,
            read_context=folder.context,
            clock=self._clock,
        )

    def _agency(self) -> Agency:
        settings = self._job.settings
        return Agency(
            harness=self._harness,
            directory=str(self._job.project.root),
            model=settings.model,
            allow_all=settings.allow_all,
            is_root=os.geteuid() == 0,
            auto_commit=settings.auto_commit,
            patience=Patience(
                iteration_s=settings.iteration_timeout or None,
                idle_s=settings.idle_timeout or None,
                promise_grace_s=settings.promise_grace,
                output_bytes=settings.output_limit_mb << 20,
            ),
        )

    def _worktree(self, repository: Repository | NoRepository, emit: Emit) -> GitWorktree | PlainFolder:
        if isinstance(repository, Repository):
            return GitWorktree(repository, timeout_s=self._job.settings.command_timeout)
        emit(Warned(message=f"changes are not counted: {repository.why}"))
        return PlainFolder(self._job.project.root)

    def _environment(self) -> dict[str, str]:
        project, change_id = self._job.project, self._job.change_id
        return {
            "SPOOL_RUN_ID": self._run_id,
            "SPOOL_CHANGE": change_id,
            "SPOOL_CHANGE_DIR": str(project.root / project.read(change_id).directory),
        }


async def _keep(folder: StateFolder) -> None:
    """Look after the state folder, so that `--status` and context work all the time."""
    while True:
        await asyncio.sleep(_KEEP_S)
        with suppress(SpoolError, OSError):  # the loop's own next write tells
            folder.keep()


def state_path(project: Project, change_id: str) -> Path:
    """Return where the state of a change's loop is."""
    return project.state / "ralph" / change_id


def open_folder(project: Project, change_id: str, repository: Repository | NoRepository) -> StateFolder:
    """Return a change's state folder, with a second home beside git where there is git."""
    path = state_path(project, change_id)
    if isinstance(repository, NoRepository):
        return StateFolder(path)
    return StateFolder(path, mirror=repository.spool_dir / "state" / mirror_name(path))


def mirror_name(path: Path) -> str:
    """Return a name for a state folder's second home that no other project or worktree has."""
    import hashlib

    return f"{path.name}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


def _limits(settings: Settings) -> Limits:
    return Limits(
        min_iterations=settings.min_iterations,
        max_iterations=settings.max_iterations or None,
        error_threshold=settings.error_threshold,
        error_pause_s=settings.error_pause,
        fail_fast=settings.fail_fast,
    )


@contextmanager
def _signals(stop: Stop, host: AgentHost) -> Iterator[None]:
    """Turn signals into stop requests while the loop runs; Ctrl-Z pauses the agent too."""
    loop = asyncio.get_running_loop()
    names = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "a closed terminal"}
    for signum, name in names.items():
        loop.add_signal_handler(signum, stop.request, name)

    def pause() -> None:
        host.pause(on=True)
        os.kill(os.getpid(), signal.SIGSTOP)
        host.pause(on=False)

    loop.add_signal_handler(signal.SIGTSTP, pause)
    try:
        yield
    finally:
        for signum in (*names, signal.SIGTSTP):
            loop.remove_signal_handler(signum)
