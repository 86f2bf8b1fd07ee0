"""Puts the parts of a loop together and runs it: the composition root of every front door."""

import asyncio
import hashlib
import os
import secrets
import shutil
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import click

from spool.cli.control import listening
from spool.cli.listing import listed
from spool.cli.target import resume_command
from spool.cli.views.lines import LogView
from spool.cli.views.viewer import Show, Viewer, make_view
from spool.domain.events import Event, IterationEnded, Warned
from spool.domain.outcome import OutcomeKind
from spool.domain.settings import Settings
from spool.domain.state import IterationRecord, LoopState, Phase
from spool.domain.stream import Usage
from spool.domain.verdict import ExitCode, Finish, Status
from spool.engine.iteration import Patience
from spool.engine.loop import Agency, Loop
from spool.engine.plan import Plan
from spool.engine.ports import Emit, Harness, Ports, Store
from spool.engine.stop import Stop
from spool.errors import SpoolError, UnreadableState, UsageError
from spool.harness import registry
from spool.host.agents.agent_host import AgentHost
from spool.host.agents.supervisor import fork_supervisor
from spool.host.clock import SystemClock
from spool.host.git.repository import NoRepository, Repository, find_repository
from spool.host.git.working_tree import GitWorktree, PlainFolder
from spool.host.runner.identity import this_runner
from spool.host.state.journal import JournalWriter
from spool.host.state.lock import Holder, held
from spool.host.state.store import StateFolder
from spool.sources.project import Project

_KEEP_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a plan can be made of, once the locks are taken."""

    project: Project
    change_id: str
    settings: Settings
    harness: Harness
    folder: StateFolder
    repository: Repository | NoRepository
    worktree: GitWorktree | PlainFolder
    clock: SystemClock
    emit: Emit


def new_run_id() -> str:
    """Return a name for a run: when it began, and a little chance."""
    return f"{SystemClock().now():%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


@dataclass(frozen=True, kw_only=True)
class Job:
    """All that a person asked for."""

    door: str
    """Which command it is, `ralph`, `run` or `wt-loop`; its loops live in a folder of that name."""
    project: Project
    change_id: str
    settings: Settings
    make_plan: Callable[[Parts], Awaitable[Plan]]
    fresh: bool = False
    show: Show = Show.STREAM
    verbose: bool = False
    needs_git: bool = False
    listed: bool = True
    """Whether `spool ps` tells of it."""
    run_id: str = field(default_factory=new_run_id)
    make_store: Callable[[StateFolder], Store] | None = None
    """Puts something between the loop and its state folder."""
    terminal: str = ""
    """Where the run shows itself, if not in the terminal that it was typed in."""
    log: Path | None = None
    """The file that gets what is shown: written by whoever caught our output, or by us where `keeps_log` says so."""
    keeps_log: bool = False
    title: str = ""
    """What the terminal's title says before the iteration."""
    resume: str = ""
    """The command line that goes on with the loop, where it is not the one that was typed."""


def run_job(job: Job) -> int:
    """Run a loop in this process and return the exit code."""
    harness = registry.find(job.settings.harness, job.settings.harnesses)
    require_program(harness)
    if job.settings.resume_agent and not harness.traits.resume:
        raise UsageError(f"{harness.name} cannot go on with an earlier conversation", hint="leave out --resume-agent")
    job.project.read(job.change_id)
    supervisor, line = fork_supervisor()  # before asyncio and before any thread
    with line:  # a run that fails before it has an agent hangs up too
        finish = asyncio.run(_Run(job, harness, supervisor, line).run())
    if finish.exit_code is ExitCode.INTERRUPTED:
        with suppress(OSError):  # the terminal may be what went away
            click.echo(f"Stopped. Go on with:\n  {job.resume or resume_command()}", err=True)
    return int(finish.exit_code)


def require_program(harness: Harness) -> None:
    """Refuse before anything is written if the agent is not there."""
    program = harness.traits.program
    if shutil.which(program) is None:
        raise SpoolError(f"{program} is not installed, or not on PATH", hint=f"install it: {harness.traits.install}")


class _Run:
    """One run, from taking the locks to letting them go."""

    def __init__(self, job: Job, harness: Harness, supervisor: int, line: socket.socket) -> None:
        self._job = job
        self._harness = harness
        self._supervisor = supervisor
        self._line = line
        self._clock = SystemClock()
        self._run_id = job.run_id
        self._warnings: list[str] = []
        self._unfinished: IterationRecord | None = None

    async def run(self) -> Finish:
        """Take the locks and run the loop."""
        job = self._job
        repository = await find_repository(job.project.root, timeout_s=job.settings.command_timeout)
        if job.needs_git and isinstance(repository, NoRepository):
            raise SpoolError(
                f"spool {job.door} needs git: {repository.why}",
                hint="install git or run git init; spool ralph works without",
            )
        folder = open_folder(job.project, job.door, job.change_id, repository)
        # The views outlive the locks: a reader that stands still holds up what is shown, not the next run.
        with ExitStack() as views, self._locked(repository):
            folder.prepare()
            with listed(job, folder, repository, self._clock, self._warnings.append) as over:
                finish = await self._in_folder(folder, repository, views)
                over(finish)
                return finish

    @contextmanager
    def _locked(self, repository: Repository | NoRepository) -> Iterator[None]:
        project = self._job.project
        holder = Holder(
            runner=this_runner(),
            run_id=self._run_id,
            door=self._job.door,
            change=self._job.change_id,
            directory=str(project.root),
            since=self._clock.now(),
        )
        if isinstance(repository, Repository):
            locks, tree = repository.spool_dir / "locks", repository.top
        else:
            locks, tree = project.state / "locks", project.root
        with held(locks, [tree, project.state / self._job.change_id], holder):
            yield

    async def _in_folder(self, folder: StateFolder, repository: Repository | NoRepository, views: ExitStack) -> Finish:
        earlier = self._earlier(folder)
        journal = JournalWriter(folder.journal, run_id=self._run_id, clock=self._clock)
        folder.link()
        host = AgentHost(
            self._supervisor,
            self._line,
            directory=self._job.project.root,
            logs=folder.logs,
            environment=self._environment(),
        )
        stop = Stop()
        notice = views.enter_context(self._viewed(folder.journal, journal.offset))
        with listening(stop, host, to_stdin=self._job.show is Show.JSON):

            def emit(event: Event) -> None:
                journal.emit(event)
                notice()

            if self._unfinished is not None and not journal.has_ended(self._unfinished.iteration):
                emit(IterationEnded(record=self._unfinished))
            keeper = asyncio.create_task(_keep(folder))
            try:
                parts = self._parts(folder, repository, emit)
                plan = await self._job.make_plan(parts)
                state = self._state(earlier, folder, plan, journal.offset)
                session = _last_session(folder, self._harness.name)
                store = self._job.make_store(folder) if self._job.make_store else folder
                ports = Ports(agents=host, store=store, emit=emit, worktree=parts.worktree, clock=self._clock)
                return await Loop(plan, self._agency(), ports, stop, state, session=session).run()
            finally:
                keeper.cancel()
                host.close()
                journal.close()

    @contextmanager
    def _viewed(self, journal: Path, offset: int) -> Iterator[Callable[[], None]]:
        """Show the run, and keep what is shown, each by a reader of its own: a stopped terminal stops no log."""
        job = self._job
        silent = job.show is Show.NOTHING
        views = [] if silent else [make_view(job.show, verbose=job.verbose, title=job.title)]
        if job.keeps_log and job.log is not None:
            views.append(LogView(job.log, fresh=job.fresh))
        with ExitStack() as stack:
            viewers = [
                stack.enter_context(Viewer(journal, offset, view, prints=not isinstance(view, LogView)))
                for view in views
            ]

            def notice() -> None:
                for viewer in viewers:
                    viewer.notice()

            yield notice

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

    def _parts(self, folder: StateFolder, repository: Repository | NoRepository, emit: Emit) -> Parts:
        job = self._job
        if isinstance(repository, Repository):
            worktree: GitWorktree | PlainFolder = GitWorktree(repository, timeout_s=job.settings.command_timeout)
        else:
            worktree = PlainFolder()
            self._warnings.append(f"changes are not counted: {repository.why}")
        for warning in self._warnings:
            emit(Warned(message=warning))
        return Parts(
            project=job.project,
            change_id=job.change_id,
            settings=job.settings,
            harness=self._harness,
            folder=folder,
            repository=repository,
            worktree=worktree,
            clock=self._clock,
            emit=emit,
        )

    def _state(self, earlier: LoopState | None, folder: StateFolder, plan: Plan, offset: int) -> LoopState:
        settings, now = self._job.settings, self._clock.now()
        return LoopState(
            plan=self._job.door,
            change=self._job.change_id,
            module=self._job.project.read(self._job.change_id).module,
            harness=self._harness.name,
            model=settings.model,
            status=Status.RUNNING,
            phase=Phase.ENDED,
            phase_since=now,
            iteration=max(earlier.iteration if earlier else 0, folder.last_iteration()),
            limits=plan.limits,
            completion_promise=plan.promise,
            run_id=self._run_id,
            runner=this_runner(),
            journal_offset=offset,
            started_at=now,
            updated_at=now,
            usage=earlier.usage if earlier else Usage(),
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
            resume=settings.resume_agent,
            patience=Patience(
                iteration_s=settings.iteration_timeout or None,
                idle_s=settings.idle_timeout or None,
                promise_grace_s=settings.promise_grace,
                output_bytes=settings.output_limit_mb << 20,
            ),
        )

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


def open_folder(project: Project, door: str, change_id: str, repository: Repository | NoRepository) -> StateFolder:
    """Return a loop's state folder, with a second home beside git where there is git."""
    path = project.state / door / change_id
    if isinstance(repository, NoRepository):
        return StateFolder(path)
    return StateFolder(path, mirror=repository.spool_dir / "state" / _mirror_name(path))


def _mirror_name(path: Path) -> str:
    """Return a name that no other project or worktree of the repository gives its folder."""
    return f"{path.name}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


def _last_session(folder: StateFolder, harness: str) -> str:
    """Return the conversation that an earlier run of this agent had, for --resume-agent."""
    last = folder.history(last=1)
    return last[0].session if last and last[0].harness == harness else ""
