"""Builds the parts of a loop from its spec."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from spool.app.gates import own_folders
from spool.app.programs import require_program
from spool.domain.change import Change
from spool.domain.loop import Door
from spool.domain.prices import price_of
from spool.domain.settings import Settings
from spool.domain.spec import LoopSpec
from spool.domain.story import Errand
from spool.engine.agency import Agency
from spool.engine.gatekeeper import Gatekeeper
from spool.engine.plan import Plan
from spool.engine.plans.prompt import Aim, PromptPlan, World
from spool.engine.ports import Emit, Harness
from spool.engine.task_book import TaskBook
from spool.engine.watch import Patience
from spool.errors import Hint, UsageError
from spool.harness import registry
from spool.host.clock import SystemClock
from spool.host.git.heads import GitHeads
from spool.host.git.repository import NoRepository, Repository
from spool.host.git.working_tree import GitWorktree, PlainFolder
from spool.host.state.loop_files import OWN_FILES
from spool.host.state.store import StateFolder
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


def open_project(spec: LoopSpec) -> Project:
    """Return the project of a loop, where its agent works; a worktree loop needs no written change."""
    root = Path(spec.directory)
    return bare_project(root) if spec.door is Door.WORKTREE else project_at(root)


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
    repository: Repository | NoRepository, settings: Settings, errand: Errand | None = None
) -> GitWorktree | PlainFolder:
    """Return the working tree, which counts changes and commits them."""
    if isinstance(repository, NoRepository):
        return PlainFolder()
    return GitWorktree(repository, timeout_s=settings.command_timeout, merging=errand.onto if errand else "")


def make_agency(spec: LoopSpec, harness: Harness, *, session: str) -> Agency:
    """Return the agent of a loop and its options."""
    settings = spec.settings
    return Agency(
        harness=harness,
        directory=spec.directory,
        model=settings.model,
        allow_all=settings.allow_all,
        in_sandbox=is_root() and (settings.sandbox or settings.claude_as_root == "pretend-sandbox"),
        auto_commit=settings.auto_commit,
        resume=settings.resume_agent,
        session=session,
        price=price_of(settings.prices, harness=harness.name, model=settings.model),
        patience=Patience(
            iteration_s=settings.iteration_timeout or None,
            idle_s=settings.idle_timeout or None,
            promise_grace_s=settings.promise_grace,
            output_bytes=settings.output_limit_mb << 20,
            memory_bytes=settings.agent_memory,
        ),
    )


async def make_plan(spec: LoopSpec, parts: Parts) -> Plan:
    """Return the plan of the spec's front door."""
    if spec.door is not Door.RUN:
        return _prompt_plan(spec, parts)
    from spool.app.story_plan import story_plan  # checkpoints take 25 ms to import

    return await story_plan(spec, parts)


def _prompt_plan(spec: LoopSpec, parts: Parts) -> Plan:
    settings, in_worktree = spec.settings, spec.door is Door.WORKTREE

    async def read_change() -> Change:
        return await asyncio.to_thread(parts.project.read, spec.change)

    async def run_criterion() -> int | None:
        assert parts.keeper is not None  # noqa: S101 - a loop with a command has gates
        return await parts.keeper.run_criterion()

    heads = None
    if (in_worktree or spec.limits.stall) and isinstance(parts.repository, Repository):
        heads = GitHeads(parts.repository, timeout_s=settings.command_timeout)
    aim = Aim(
        task=spec.task,
        promise=settings.completion_promise,
        limits=spec.limits,
        criterion=spec.criterion,
        command=spec.done_command,
        own_files=OWN_FILES if in_worktree else (),
        own_folders=own_folders(spec.directory, parts.repository, parts.change.own),
    )
    world = World(
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
    )
    return PromptPlan(aim, world)
