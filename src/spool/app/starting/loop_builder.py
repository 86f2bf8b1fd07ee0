"""Builds a loop from its spec, once its locks are held."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spool.app.starting.construction import is_root, learnings_of, open_worktree
from spool.app.starting.earlier_runs import last_session
from spool.app.starting.loop_workspace import deliverer
from spool.app.verifying.gate_construction import make_keeper, own_folders, task_book
from spool.domain.agent.invocation import AgentOptions, Patience
from spool.domain.agent.prices import price_of
from spool.domain.change.change import Change
from spool.domain.loop.events import Warned
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.state import LoopState, UnfinishedIteration
from spool.domain.loop.summary import LoopKind
from spool.engine.gates.gatekeeper import Gatekeeper
from spool.engine.gates.task_book import TaskBook
from spool.engine.loop import Loop
from spool.engine.losses import not_kept
from spool.engine.plans.prompt_plan import PromptPlan
from spool.engine.plans.strategy import Strategy
from spool.engine.ports import Deliver, Emit, Expenses, Harness, Ports, StartGate, Store, Unguarded, Unshared
from spool.engine.stop_request import Stop
from spool.errors import SpoolError
from spool.host.agents.agent_host import AgentHost
from spool.host.clock import SystemClock
from spool.host.git.heads import GitHeads
from spool.host.git.repository import NoRepository, Repository
from spool.host.git.working_tree import GitWorktree, PlainFolder
from spool.host.state.loop_files import OWN_FILES, LoopFileStore
from spool.host.state.loop_store import StateFolder
from spool.host.state.rate_limits import RateLimitFiles
from spool.host.state.spending_log import Peers, SpendingFile, Unkept
from spool.sources.project import Project

if TYPE_CHECKING:
    from spool.engine.plans.story_plan import StoryPlan
    from spool.host.git.checkpoints.beginnings import Beginnings
    from spool.host.git.checkpoints.checkpoints import Checkpoints

Tie = Callable[[LoopSpec, Repository, GitWorktree], tuple[StartGate, Deliver]]
"""Ties a loop to the worker that started it: who admits its agents, and who takes its work."""
_Tree = GitWorktree | PlainFolder


@dataclass(frozen=True, kw_only=True)
class LoopBuilder:
    """Builds the loop of one run."""

    spec: LoopSpec
    project: Project
    change: Change
    """The change as it was at the start; a plan rereads it for each iteration."""
    harness: Harness
    host: AgentHost
    state: LoopState
    folder: StateFolder
    repository: Repository | NoRepository
    clock: SystemClock
    emit: Emit

    async def build(self, stop: Stop, *, unjudged: UnfinishedIteration | None, tie: Tie | None) -> Loop:
        """Return the loop."""
        spec, folder, repository = self.spec, self.folder, self.repository
        worktree = open_worktree(repository, spec.settings, spec.errand)
        book = task_book(spec, self.emit)
        keeper = make_keeper(
            spec,
            self.host,
            folder.logs,
            project=self.project,
            repository=repository,
            worktree=worktree,
            book=book,
            emit=self.emit,
        )
        plan = await self._plan(worktree, book, keeper)
        admission: StartGate = Unguarded()
        deliver = deliverer(spec)
        if tie is not None:
            assert isinstance(repository, Repository)  # noqa: S101 - a fleet's loop works in a clone
            assert isinstance(worktree, GitWorktree)  # noqa: S101 - as above
            admission, deliver = tie(spec, repository, worktree)
        store: Store = LoopFileStore(folder, self.state) if spec.door is LoopKind.WORKTREE else folder
        ports = Ports(
            agents=self.host,
            store=store,
            emit=self.emit,
            worktree=worktree,
            clock=self.clock,
            expenses=self._expenses(),
            deliver=deliver,
            rate_limits=RateLimitFiles() if spec.listed else Unshared(),
            admission=admission,
        )
        return Loop(plan, self.harness, self._options(), ports, stop, self.state, unjudged=unjudged, keeper=keeper)

    def _options(self) -> AgentOptions:
        """Return the options of the agent: the one place where settings become what a harness reads."""
        settings = self.spec.settings
        return AgentOptions(
            directory=self.spec.directory,
            model=settings.model,
            allow_all=settings.allow_all,
            in_sandbox=is_root() and (settings.sandbox or settings.claude_as_root == "pretend-sandbox"),
            session=last_session(self.folder, self.harness.name) if settings.resume_agent else "",
            resume=settings.resume_agent,
            auto_commit=settings.auto_commit,
            price=price_of(settings.prices, harness=self.harness.name, model=settings.model),
            patience=Patience(
                iteration_s=settings.iteration_timeout or None,
                idle_s=settings.idle_timeout or None,
                promise_grace_s=settings.promise_grace,
                output_bytes=settings.output_limit_mb << 20,
                memory_bytes=settings.agent_memory,
            ),
        )

    def _expenses(self) -> Expenses:
        if not self.spec.listed:
            return Unkept()
        peers = Peers(self.spec.peers, self.spec.peers_since)
        return SpendingFile(project=self.state.project, change=self.state.change, now=self.clock.now, peers=peers)

    async def _plan(self, worktree: _Tree, book: TaskBook, keeper: Gatekeeper | None) -> Strategy[Any]:
        """Return the plan of the spec's front door."""
        if self.spec.door is LoopKind.RUN:
            return await self._story_plan(worktree, book, keeper)
        return await self._prompt_plan(book, keeper)

    async def _prompt_plan(self, book: TaskBook, keeper: Gatekeeper | None) -> PromptPlan:
        spec, git = self.spec, self.repository

        async def read_change() -> Change:
            return await asyncio.to_thread(self.project.read, spec.change)

        async def run_criterion() -> int | None:
            assert keeper is not None  # noqa: S101 - a loop with a command has gates
            return await keeper.run_criterion()

        timeout_s = spec.settings.command_timeout
        return PromptPlan(
            task=spec.task,
            promise=spec.settings.completion_promise,
            limits=spec.limits,
            criterion=spec.criterion,
            command=spec.done_command,
            own_files=OWN_FILES if spec.door is LoopKind.WORKTREE else (),
            own_folders=own_folders(spec.directory, git, self.change.own),
            read_change=read_change,
            read_context=self.folder.context,
            run_command=run_criterion,
            book=book,
            keeper=keeper,
            marked_done=self.folder.marked_done,
            emit=self.emit,
            jitter=self.clock.jitter,
            heads=GitHeads(git, timeout_s=timeout_s) if isinstance(git, Repository) else None,
            question_tool=self.harness.traits.question_tool,
            beginnings=await self._beginnings(),
        )

    async def _beginnings(self) -> "Beginnings | None":
        """Return what keeps the tree before the run; None without git."""
        if isinstance(self.repository, NoRepository):
            return None
        from spool.host.git.checkpoints.beginnings import Beginnings

        try:
            return Beginnings(await self._checkpoints(self.repository), now=self.clock.now)
        except SpoolError as error:  # as in the plan: the loop runs all the same
            self.emit(not_kept(error))
            return None

    async def _story_plan(self, worktree: _Tree, book: TaskBook, keeper: Gatekeeper | None) -> "StoryPlan":
        # Checkpoints take 25 ms to import, and one prompt without git needs none.
        from spool.app.changes.format_tool import usable_tool
        from spool.app.changes.plan_files import write_plan
        from spool.engine.plans.story_plan import StoryPlan
        from spool.engine.plans.story_world import OnResume
        from spool.host.git.checkpoints.beginnings import Beginnings
        from spool.sources.story_source import ChangeStories

        spec, settings, repository = self.spec, self.spec.settings, self.repository
        assert isinstance(repository, Repository)  # noqa: S101 - the runner has refused to start without git
        checkpoints = await self._checkpoints(repository)
        timeout_s = settings.command_timeout

        def commit(message: str, leaving: tuple[str, ...]) -> Awaitable[str | None]:
            return worktree.commit(message, leaving=leaving)

        return StoryPlan(
            limits=spec.limits,
            max_retries=settings.max_retries,
            on_resume=OnResume(settings.on_resume),
            question_tool=self.harness.traits.question_tool,
            learnings=learnings_of(spec.change),
            answer=OnResume(spec.on_resume) if spec.on_resume else None,
            fresh=spec.fresh,
            own_folders=own_folders(spec.directory, repository, self.change.own),
            source=ChangeStories(
                self.project,
                spec.change,
                timeout_s=timeout_s,
                tool=usable_tool(self.change.source, Path(spec.directory), timeout_s=timeout_s),
                errand=spec.errand,
                write=write_plan,
            ),
            checkpoints=checkpoints,
            beginnings=Beginnings(checkpoints, now=self.clock.now),
            read_context=self.folder.context,
            commit=commit if settings.commit_stories else None,
            book=book,
            keeper=keeper,
            emit=self.emit,
            jitter=self.clock.jitter,
        )

    async def _checkpoints(self, repository: Repository) -> "Checkpoints":
        """Return the loop's checkpoints, without what was kept for long enough; finish an undo that was killed."""
        from spool.host.git.checkpoints.beginnings import Beginnings
        from spool.host.git.checkpoints.checkpoints import Checkpoints

        settings, now = self.spec.settings, self.clock.now
        checkpoints = Checkpoints(
            repository,
            self.spec.change,
            now=now,
            timeout_s=settings.command_timeout,
            large_file_bytes=settings.large_file_mb << 20,
        )
        await checkpoints.expire(now())
        if finished := await Beginnings(checkpoints, now=now).finish_cut_short():
            done = f"an undo or restore that was cut short is finished, to {finished}; what it replaced is kept"
            self.emit(Warned(message=done))
        return checkpoints
