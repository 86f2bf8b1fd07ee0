"""Builds the parts of a loop from its spec."""

import asyncio
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spool.app.machine.agent_programs import require_program
from spool.app.verifying.gate_construction import own_folders
from spool.domain.agent.invocation import AgentRequest
from spool.domain.agent.prices import price_of
from spool.domain.change.change import Change
from spool.domain.change.story import RepairStory
from spool.domain.loop.criteria import Criterion
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec, Show
from spool.domain.loop.summary import LoopKind
from spool.engine.agent_limits import Patience
from spool.engine.agent_options import AgentOptions
from spool.engine.gates.gatekeeper import Gatekeeper
from spool.engine.gates.task_book import TaskBook
from spool.engine.losses import not_kept
from spool.engine.plans.prompt_plan import PromptPlan
from spool.engine.plans.strategy import Strategy
from spool.engine.ports import Emit, Harness, KeptBeginnings
from spool.errors import Hint, SpoolError, UsageError
from spool.harness import registry
from spool.host.clock import SystemClock
from spool.host.git.heads import GitHeads
from spool.host.git.repository import NoRepository, Repository
from spool.host.git.working_tree import GitWorktree, PlainFolder
from spool.host.state.loop_files import OWN_FILES
from spool.host.state.loop_store import StateFolder
from spool.sources.project import Project, bare_project, project_at


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of a plan, available once the locks are held."""

    project: Project
    change: Change
    """The change as it was at the start; a plan rereads it for each iteration."""
    harness: Harness
    folder: StateFolder
    repository: Repository | NoRepository
    worktree: GitWorktree | PlainFolder
    clock: SystemClock
    emit: Emit
    book: TaskBook
    keeper: Gatekeeper | None = None


def new_run_id() -> str:
    """Return a run id: the start time and a random suffix."""
    return f"{SystemClock().now():%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def new_spec(
    door: LoopKind,
    root: Path | str,
    change: str,
    settings: Settings,
    *,
    again: str = "",
    task: str = "",
    criterion: Criterion = Criterion.PROMISE,
    done_command: str = "",
    fresh: bool = False,
    show: Show = Show.STREAM,
    verbose: bool = False,
    listed: bool = True,
    log: str = "",
    on_resume: str = "",
    no_gates: bool = False,
    gates_given: tuple[str, ...] = (),
    baseline_given: bool = False,
) -> LoopSpec:
    """Return a loop that has not run yet; nothing else makes one."""
    return LoopSpec(
        run_id=new_run_id(),
        door=door,
        change=change,
        root=str(root),
        settings=settings,
        again=again,
        task=task,
        criterion=criterion,
        done_command=done_command,
        fresh=fresh,
        show=show,
        verbose=verbose,
        listed=listed,
        log=log,
        on_resume=on_resume,
        no_gates=no_gates,
        gates_given=gates_given,
        baseline_given=baseline_given,
    )


def open_project(spec: LoopSpec) -> Project:
    """Return the project of a loop, where its agent works; a worktree loop needs no written change."""
    root = Path(spec.directory)
    return bare_project(root) if spec.door is LoopKind.WORKTREE else project_at(root)


def find_harness(settings: Settings) -> Harness:
    """Return the agent of these settings; raise before anything is written if it cannot run."""
    harness = registry.find(settings.harness, settings.harnesses)
    require_program(harness, settings)
    if settings.allow_all and harness.traits.sandbox_as_root and is_root() and not _claims_sandbox(settings):
        raise UsageError(f"{harness.name} refuses allow-all as root outside a sandbox", hint=Hint.CLAUDE_AS_ROOT)
    if settings.resume_agent and not harness.traits.resume:
        raise UsageError(f"{harness.name} cannot continue an earlier conversation", hint=Hint.FRESH_AGENT)
    return harness


def is_root() -> bool:
    """Whether this process runs as root."""
    return os.geteuid() == 0


def _claims_sandbox(settings: Settings) -> bool:
    return settings.sandbox or settings.claude_as_root == "pretend-sandbox" or bool(os.environ.get("IS_SANDBOX"))


def require_file(harness: Harness, root: Path) -> None:
    """Raise a UsageError if an agent needs a file that the project does not have."""
    path = root / harness.traits.requires
    if harness.traits.requires and not path.is_file():
        hint = "`spool demo --keep DIR` has an example; [harnesses.scripted] script = PATH names another file"
        raise UsageError(f"{harness.name} needs a script: {path} is not there", hint=hint)


def open_worktree(
    repository: Repository | NoRepository, settings: Settings, errand: RepairStory | None = None
) -> GitWorktree | PlainFolder:
    """Return the working tree, which counts changes and commits them."""
    if isinstance(repository, NoRepository):
        return PlainFolder()
    return GitWorktree(repository, timeout_s=settings.command_timeout, merging=errand.onto if errand else "")


def make_agency(spec: LoopSpec, harness: Harness, *, session: str) -> AgentOptions:
    """Return the agent of a loop and its options."""
    settings = spec.settings
    return AgentOptions(
        harness=harness,
        request=AgentRequest(
            directory=spec.directory,
            model=settings.model,
            allow_all=settings.allow_all,
            in_sandbox=is_root() and (settings.sandbox or settings.claude_as_root == "pretend-sandbox"),
            session=session if settings.resume_agent else "",
        ),
        auto_commit=settings.auto_commit,
        resume=settings.resume_agent,
        price=price_of(settings.prices, harness=harness.name, model=settings.model),
        patience=Patience(
            iteration_s=settings.iteration_timeout or None,
            idle_s=settings.idle_timeout or None,
            promise_grace_s=settings.promise_grace,
            output_bytes=settings.output_limit_mb << 20,
            memory_bytes=settings.agent_memory,
        ),
    )


async def make_plan(spec: LoopSpec, parts: Parts) -> Strategy[Any]:
    """Return the plan of the spec's front door."""
    if spec.door is not LoopKind.RUN:
        return _prompt_plan(spec, parts, await _beginnings(spec, parts))
    from spool.app.starting.story_construction import story_plan  # checkpoints take 25 ms to import

    return await story_plan(spec, parts)


async def _beginnings(spec: LoopSpec, parts: Parts) -> KeptBeginnings | None:
    """Return what keeps the tree before the run; None without git."""
    if isinstance(parts.repository, NoRepository):
        return None
    from spool.app.starting.story_construction import open_beginnings

    try:
        return await open_beginnings(spec, parts, parts.repository)
    except SpoolError as error:  # as in the plan: the loop runs all the same
        parts.emit(not_kept(error))
        return None


def _prompt_plan(spec: LoopSpec, parts: Parts, beginnings: KeptBeginnings | None) -> Strategy[Any]:
    settings, in_worktree = spec.settings, spec.door is LoopKind.WORKTREE

    async def read_change() -> Change:
        return await asyncio.to_thread(parts.project.read, spec.change)

    async def run_criterion() -> int | None:
        assert parts.keeper is not None  # noqa: S101 - a loop with a command has gates
        return await parts.keeper.run_criterion()

    git = parts.repository
    heads = GitHeads(git, timeout_s=settings.command_timeout) if isinstance(git, Repository) else None
    return PromptPlan(
        task=spec.task,
        promise=settings.completion_promise,
        limits=spec.limits,
        criterion=spec.criterion,
        command=spec.done_command,
        own_files=OWN_FILES if in_worktree else (),
        own_folders=own_folders(spec.directory, parts.repository, parts.change.own),
        read_change=read_change,
        read_context=parts.folder.context,
        run_command=run_criterion,
        book=parts.book,
        keeper=parts.keeper,
        marked_done=parts.folder.marked_done,
        emit=parts.emit,
        jitter=parts.clock.jitter,
        heads=heads,
        question_tool=parts.harness.traits.question_tool,
        beginnings=beginnings,
    )
