"""Runs a loop in this process, from taking the locks to releasing them."""

import asyncio
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from spool.app.loops.discarded_attempts import finish_due
from spool.app.loops.state_mirror import open_folder
from spool.app.observing.observers import Observer, observers_of, observing
from spool.app.starting.construction import (
    find_harness,
    open_project,
    require_file,
)
from spool.app.starting.crash import write_crash
from spool.app.starting.earlier_runs import final_summary, settle_killed, terminal_pid
from spool.app.starting.loop_builder import LoopBuilder, Tie
from spool.app.starting.loop_workspace import prepare_learnings, refuse_elsewhere, remembered, sandbox_of
from spool.app.starting.repair_story import begin_errand, on_errand
from spool.app.starting.signals import listening
from spool.app.starting.uncommitted import refuse_dirty
from spool.app.verifying.gate_construction import forget_boxes
from spool.domain.change.change import Change
from spool.domain.judging.promise import DEFAULT_PROMISE
from spool.domain.loop.events import Event, IterationEnded, RunEnded, Warned, Working
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.spec import LoopSpec, Show, expected, judging_as_before
from spool.domain.loop.state import LoopState, UnfinishedIteration, continued
from spool.domain.loop.summary import STATE, LoopKind, LoopSummary, Phase, summarized
from spool.domain.loop.verdict import ExitCode, Finish, Status
from spool.engine.ports import Emit, Harness
from spool.engine.stop_request import Stop
from spool.errors import InternalError, NotEnoughMemory, RemovedTree, SpoolError, UnreadableState, is_starved
from spool.host.agents.agent_host import AgentHost
from spool.host.agents.supervisor import Supervision, fork_supervisor
from spool.host.clock import SystemClock
from spool.host.git.checkpoints.pace import paced
from spool.host.git.repository import NoRepository, Repository, find_repository
from spool.host.git.workspaces.opening import open_workspace
from spool.host.runner.identity import this_runner
from spool.host.state.journal import JournalWriter
from spool.host.state.lock import held, holder_of
from spool.host.state.loop_store import StateFolder
from spool.host.state.run_registry import stopped_by, this_machine
from spool.host.state.specs import keep_spec, kept_spec
from spool.sources.project import Project
from spool.sources.story_source import require_stories

if TYPE_CHECKING:
    from spool.host.sandbox.sandbox import Sandbox

Observe = Callable[[LoopSpec], Sequence[Observer]]
_GARBAGE = (700, 10, 10)
"""Python's default collection thresholds; the command line starts with lower ones."""
_KEEP_S = 2.0


def run(spec: LoopSpec, observe: Observe = lambda _: (), tie: Tie | None = None) -> Finish:
    """Run a loop in this process to its end; `observe` creates its observers once the locks are held."""
    harness = find_harness(spec.settings)
    project = open_project(spec)
    change = project.read(spec.change)
    if spec.door is LoopKind.RUN:
        require_stories(change)
    require_file(harness, Path(spec.directory))
    sandbox = sandbox_of(spec, harness.traits)
    gc.collect()
    gc.freeze()  # what was imported stays; the supervisor shares its memory as long as nobody marks it
    gc.set_threshold(*_GARBAGE)
    supervision = fork_supervisor()  # before asyncio and before any thread
    with supervision.line:  # closed even if the run fails before it has an agent
        return asyncio.run(_RunnerRun(spec, project, change, harness, supervision, sandbox, tie).run(observe))


@dataclass
class _RunnerRun:
    """One run."""

    _spec: LoopSpec
    _project: Project
    _change: Change
    _harness: Harness
    _supervision: Supervision
    _sandbox: "Sandbox | None"
    _tie: Tie | None = None
    _clock: SystemClock = field(default_factory=SystemClock)
    _warnings: list[str] = field(default_factory=list)

    async def run(self, observe: Observe) -> Finish:
        """Take the locks and run the loop."""
        spec = self._spec
        timeout_s = spec.settings.command_timeout
        repository = await open_workspace(Path(spec.root), spec.workspace, timeout_s=timeout_s)
        home = await find_repository(Path(spec.root), timeout_s=timeout_s) if spec.workspace else repository
        if spec.door is not LoopKind.RALPH and isinstance(repository, NoRepository):
            raise SpoolError(f"a git repository is required: {repository.why}", hint="install git, or run: git init")
        folder = open_folder(Path(spec.folder), home)
        # Observers outlive the locks: a stalled reader delays the output, not the next run.
        with ExitStack() as outliving, self._locked(repository, home):
            if isinstance(repository, Repository) and (said := await finish_due(repository, timeout_s=timeout_s)):
                self._warnings.append(said)
            with suppress(UnreadableState):  # reported below
                earlier = folder.load()
                refuse_elsewhere(spec, earlier)
                await refuse_dirty(spec, repository, earlier)
            await begin_errand(spec, repository)
            folder.prepare()
            folder.unmark_done()
            earlier, unjudged = self._earlier(folder)
            earlier = remembered(spec, earlier)
            if spec.listed:
                self._keep_spec(earlier)
            state = self._state(earlier, folder, repository, home)
            prepare_learnings(spec)
            with self._listed(state, folder):
                return await self._in_folder(state, unjudged, folder, repository, outliving, observe)

    def _keep_spec(self, earlier: LoopState | None) -> None:
        """Store the spec. A loop that continues keeps its checks: an agent may have removed them from the settings."""
        continues = earlier is not None and earlier.status is not Status.DONE and earlier.iteration > 0
        try:
            kept = kept_spec(self._spec.folder) if continues and not self._spec.no_gates else None
            if kept is not None:
                self._spec, said = judging_as_before(self._spec, kept)
                self._warnings += said
            keep_spec(self._spec)
        except (OSError, SpoolError) as error:
            self._warnings.append(f"this loop cannot be resumed by name: {error}")

    @contextmanager
    def _locked(self, repository: Repository | NoRepository, home: Repository | NoRepository) -> Iterator[None]:
        """Lock the working tree, and the change in the directory with its state."""
        spec, state = self._spec, Path(self._spec.root) / STATE
        locks = (home.spool_dir if isinstance(home, Repository) else state) / "locks"
        tree = repository.top if isinstance(repository, Repository) else Path(spec.root)
        with held(locks, [tree, state / spec.change], holder_of(spec, self._clock.now())):
            yield

    async def _in_folder(
        self,
        state: LoopState,
        unjudged: UnfinishedIteration | None,
        folder: StateFolder,
        repository: Repository | NoRepository,
        outliving: ExitStack,
        observe: Observe,
    ) -> Finish:
        journal = JournalWriter(folder.journal, run_id=self._spec.run_id, now=self._clock.now)
        state = msgspec.structs.replace(state, journal_offset=journal.offset)
        folder.link()
        host = AgentHost(
            self._supervision,
            directory=Path(self._spec.directory),
            logs=folder.logs,
            environment=self._environment(),
            isolated=self._spec.settings.isolate_processes,
            sandbox=self._sandbox,
        )
        stop = Stop()
        observers = [*observe(self._spec), *observers_of(self._spec)]
        watching = outliving.enter_context(observing(folder.journal, journal.offset, observers))

        def emit(event: Event) -> None:
            journal.emit(event)
            for observation in watching:
                observation.notice(event)

        with listening(stop, host, stdin=self._spec.show is Show.JSON, asked_by=lambda: stopped_by(self._spec.run_id)):
            keeper = asyncio.create_task(_keep(folder, Path(self._spec.directory), stop))
            try:
                with paced(lambda step, share, files: emit(Working(step=step, share=round(share, 3), files=files))):
                    builder = LoopBuilder(
                        spec=self._spec,
                        project=self._project,
                        change=self._change,
                        harness=self._harness,
                        host=host,
                        state=state,
                        folder=folder,
                        repository=repository,
                        clock=self._clock,
                        emit=emit,
                    )
                    return await self._looped(builder, journal, unjudged, stop)
            finally:
                keeper.cancel()
                host.close()
                journal.close()

    async def _looped(
        self, builder: LoopBuilder, journal: JournalWriter, unjudged: UnfinishedIteration | None, stop: Stop
    ) -> Finish:
        """Build the loop and run it; a bug of ours ends the run as stuck, and leaves a crash file."""
        loop = None
        try:
            if unjudged is not None and unjudged.recorded and not journal.has_ended(unjudged.record.iteration):
                builder.emit(IterationEnded(record=unjudged.record))
            self._warn(builder.repository, builder.emit)
            loop = await builder.build(stop, unjudged=unjudged, tie=self._tie)
            return await loop.run()
        except (SpoolError, OSError):
            raise
        except Exception as bug:  # the only place that catches a bug in a run
            if is_starved(bug):
                raise NotEnoughMemory("not enough memory", hint="see: ulimit -v") from bug
            path = write_crash(builder.folder.path, bug, run_id=builder.state.run_id)
            why = f"internal error: {type(bug).__name__}: {bug}"
            with suppress(SpoolError, OSError):
                loop.abandon(why, Status.STUCK) if loop else _abandon(builder, why)
            raise InternalError(why, hint=f"details are in {path}" if path else "") from bug

    def _warn(self, repository: Repository | NoRepository, emit: Emit) -> None:
        if isinstance(repository, NoRepository):
            measured = " and progress is not measured" if self._spec.limits.stall else ""
            self._warnings.append(f"changes are not counted{measured}: {repository.why}")
        if self._spec.no_gates and (gates := self._spec.settings.gates):
            self._warnings.append(f"the configured checks are off: {', '.join(gate.name for gate in gates)}")
        if doubled := self._project.doubled(Path(self._change.directory).name):
            self._warnings.append(doubled)
        for warning in self._warnings:
            emit(Warned(message=warning))

    def _earlier(self, folder: StateFolder) -> tuple[LoopState | None, UnfinishedIteration | None]:
        """Return the state to continue from, and the iteration in which its runner died, if any."""
        settle_killed(folder)
        if self._spec.fresh:
            folder.start_fresh(self._spec.run_id)
            forget_boxes(self._spec)
        try:
            earlier = folder.load()
        except UnreadableState as error:
            self._warnings.append(f"{error}; it is kept as {folder.set_aside().name}")
            return None, None
        unjudged = folder.recover(earlier, now=self._clock.now())
        if unjudged is not None and unjudged.record.outcome is OutcomeKind.INTERRUPTED:
            self._warnings.append(f"iteration {unjudged.record.iteration} of an earlier run was interrupted")
        return earlier, unjudged

    def _state(
        self,
        earlier: LoopState | None,
        folder: StateFolder,
        repository: Repository | NoRepository,
        home: Repository | NoRepository,
    ) -> LoopState:
        spec, now = self._spec, self._clock.now()
        main = home.main if isinstance(home, Repository) else spec.root
        top = repository.top if isinstance(repository, Repository) else spec.root
        known = msgspec.structs.replace(
            expected(spec, this_runner(), now),
            module=self._change.module,
            project=str(main),
            worktree=str(top),
            task=spec.task if spec.door is LoopKind.WORKTREE else "",
            criterion=spec.criterion if spec.door is LoopKind.WORKTREE else "",
            done_command=spec.done_command,
            harness=self._harness.name,
            terminal_pid=terminal_pid(spec.terminal),
            phase=Phase.ENDED,
            phase_since=now,
            limits=spec.limits,
        )
        promise = DEFAULT_PROMISE if spec.door is LoopKind.RUN else spec.settings.completion_promise
        state = LoopState(**msgspec.structs.asdict(known), completion_promise=promise)
        return on_errand(spec, continued(state, earlier, last_iteration=folder.last_iteration()))

    @contextmanager
    def _listed(self, state: LoopState, folder: StateFolder) -> Iterator[None]:
        """Register the run and its end; an unwritable home directory costs only a warning."""
        if not self._spec.listed:
            yield
            return
        loop = summarized(state)
        self._enter(loop)
        why = "ended with an error"
        try:
            yield
        except (SpoolError, OSError) as error:
            why = str(error)
            raise
        finally:
            self._enter(final_summary(folder, loop, why))

    def _enter(self, loop: LoopSummary) -> None:
        registry = this_machine()
        try:
            registry.enter(loop)
            registry.prune()
        except (OSError, SpoolError) as error:
            self._warnings.append(f"this loop is not listed: {error}")

    def _environment(self) -> dict[str, str]:
        return {
            "SPOOL_RUN_ID": self._spec.run_id,
            "SPOOL_CHANGE": self._spec.change,
            "SPOOL_CHANGE_DIR": str(Path(self._spec.directory) / self._change.directory),
            "SPOOL_TASK_FILE": str(Path(self._spec.directory) / self._change.task_file),
        }


def _abandon(run: LoopBuilder, why: str) -> None:
    """End a run that never got as far as its loop."""
    now = SystemClock().now()
    ended = msgspec.structs.replace(
        run.state, status=Status.STUCK, reason=why, phase=Phase.ENDED, updated_at=now, ended_at=now
    )
    run.folder.save(ended)
    run.emit(RunEnded(status=Status.STUCK, reason=why, exit_code=int(ExitCode.FAILED), ended_at=now))


async def _keep(folder: StateFolder, directory: Path, stop: Stop) -> None:
    """Restore the state folder if it is deleted, so that status and notes keep working; stop in a removed tree."""
    while True:
        await asyncio.sleep(_KEEP_S)
        try:
            if not directory.is_dir():
                raise RemovedTree(f"{directory} was removed while its loop was running")
            folder.keep()
        except RemovedTree:
            stop.request("the removal of its directory")
            return
        except (SpoolError, OSError):  # the loop's next write reports it
            continue
