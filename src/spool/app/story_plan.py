"""Builds the plan of `spool run`: stories, checkpoints, and `openspec` where the change comes from it."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from spool.app.build import Parts
from spool.app.gates import own_folders
from spool.app.openspec_command import run_openspec
from spool.domain.loop import Door, state_path
from spool.domain.spec import LoopSpec
from spool.engine.plan import Plan
from spool.engine.plans.stories import StoryPlan
from spool.engine.plans.story_world import OnResume, StoryOptions, StoryWorld
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import Repository
from spool.sources.openspec import OpenSpec
from spool.sources.stories import ChangeStories


async def story_plan(spec: LoopSpec, parts: Parts) -> Plan:
    """Return the plan that runs a change story by story."""
    settings = spec.settings
    assert isinstance(parts.repository, Repository)  # noqa: S101 - the runner has refused to start without git
    checkpoints = Checkpoints(
        parts.repository,
        spec.change,
        now=parts.clock.now,
        timeout_s=settings.command_timeout,
        large_file_bytes=settings.large_file_mb << 20,
    )
    await checkpoints.expire(parts.clock.now())
    options = StoryOptions(
        limits=spec.limits,
        max_retries=settings.max_retries,
        on_resume=OnResume(settings.on_resume),
        question_tool=parts.harness.traits.question_tool,
        learnings=learnings_of(spec.change),
        answer=OnResume(spec.on_resume) if spec.on_resume else None,
        fresh=spec.fresh,
        own_folders=own_folders(spec.directory, parts.repository, parts.change.own),
    )
    world = StoryWorld(
        source=ChangeStories(
            parts.project,
            spec.change,
            timeout_s=settings.command_timeout,
            openspec=_openspec(spec, parts),
            errand=spec.errand,
        ),
        checkpoints=checkpoints,
        read_context=parts.folder.context,
        commit=_committer(parts) if settings.commit_stories else None,
        book=parts.book,
        keeper=parts.keeper,
        emit=parts.emit,
        jitter=parts.clock.jitter,
    )
    return StoryPlan(options, world)


def _committer(parts: Parts) -> Callable[[str, tuple[str, ...]], Awaitable[str | None]]:
    def commit(message: str, leaving: tuple[str, ...]) -> Awaitable[str | None]:
        return parts.worktree.commit(message, leaving=leaving)

    return commit


def learnings_of(change: str) -> str:
    """Return the file with learnings for later stories, as the prompt names it: from where the agent works."""
    return f"{state_path('.', Door.RUN, change)}/learnings.md".removeprefix("./")


def _openspec(spec: LoopSpec, parts: Parts) -> OpenSpec | None:
    """Return a client of `openspec`, if it is installed and the change comes from it."""
    if parts.change.source != "openspec" or not OpenSpec.installed():
        return None

    async def ask(argv: Sequence[str]) -> bytes:
        done = await run_openspec(argv[1:], directory=Path(spec.directory), timeout_s=spec.settings.command_timeout)
        return done.output

    return OpenSpec(ask)
