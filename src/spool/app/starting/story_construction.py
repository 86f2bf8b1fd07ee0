"""Builds the plan of `spool run`: stories, checkpoints, and the program of the change's format, if it has one."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from spool.app.changes.format_tool import usable_tool
from spool.app.starting.construction import Parts
from spool.app.verifying.gate_construction import own_folders
from spool.domain.loop.events import Warned
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind, state_path
from spool.engine.plans.story_plan import StoryPlan
from spool.engine.plans.story_world import OnResume
from spool.host.git.checkpoints.beginnings import Beginnings
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import Repository
from spool.sources.story_source import ChangeStories


async def story_plan(spec: LoopSpec, parts: Parts) -> StoryPlan:
    """Return the plan that runs a change story by story."""
    settings = spec.settings
    assert isinstance(parts.repository, Repository)  # noqa: S101 - the runner has refused to start without git
    checkpoints = await open_checkpoints(spec, parts, parts.repository)
    return StoryPlan(
        limits=spec.limits,
        max_retries=settings.max_retries,
        on_resume=OnResume(settings.on_resume),
        question_tool=parts.harness.traits.question_tool,
        learnings=learnings_of(spec.change),
        answer=OnResume(spec.on_resume) if spec.on_resume else None,
        fresh=spec.fresh,
        own_folders=own_folders(spec.directory, parts.repository, parts.change.own),
        source=ChangeStories(
            parts.project,
            spec.change,
            timeout_s=settings.command_timeout,
            tool=usable_tool(parts.change.source, Path(spec.directory), timeout_s=settings.command_timeout),
            errand=spec.errand,
        ),
        checkpoints=checkpoints,
        beginnings=Beginnings(checkpoints, now=parts.clock.now),
        read_context=parts.folder.context,
        commit=_committer(parts) if settings.commit_stories else None,
        book=parts.book,
        keeper=parts.keeper,
        emit=parts.emit,
        jitter=parts.clock.jitter,
    )


async def open_checkpoints(spec: LoopSpec, parts: Parts, repository: Repository) -> Checkpoints:
    """Return the checkpoints of a loop, without what has been kept for long enough; finish an undo that was killed."""
    settings, now = spec.settings, parts.clock.now
    large = settings.large_file_mb << 20
    checkpoints = Checkpoints(
        repository, spec.change, now=now, timeout_s=settings.command_timeout, large_file_bytes=large
    )
    await checkpoints.expire(now())
    if finished := await Beginnings(checkpoints, now=now).finish_cut_short():
        done = f"an undo or restore that was cut short is finished, to {finished}; what it replaced is kept"
        parts.emit(Warned(message=done))
    return checkpoints


async def open_beginnings(spec: LoopSpec, parts: Parts, repository: Repository) -> Beginnings:
    """Return the beginnings of a loop that has no checkpoints."""
    return Beginnings(await open_checkpoints(spec, parts, repository), now=parts.clock.now)


def _committer(parts: Parts) -> Callable[[str, tuple[str, ...]], Awaitable[str | None]]:
    def commit(message: str, leaving: tuple[str, ...]) -> Awaitable[str | None]:
        return parts.worktree.commit(message, leaving=leaving)

    return commit


def learnings_of(change: str) -> str:
    """Return the file with learnings for later stories, as the prompt names it: from where the agent works."""
    return f"{state_path('.', LoopKind.RUN, change)}/learnings.md".removeprefix("./")
