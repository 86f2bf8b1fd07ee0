"""Makes the job of `spool run`."""

from collections.abc import Sequence

from spool.cli.runner import Job, Parts
from spool.cli.views.viewer import Show
from spool.domain.settings import Settings
from spool.domain.verdict import Limits
from spool.engine.plan import Plan
from spool.engine.stories import OnResume, StoryPlan
from spool.errors import SpoolError
from spool.host.command import run_command
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.repository import Repository
from spool.sources.openspec import OpenSpec
from spool.sources.project import Project
from spool.sources.stories import ChangeStories, read_stories


def story_job(project: Project, change_id: str, settings: Settings, *, show: Show = Show.STREAM) -> Job:
    """Return the job of walking a change story by story; a half-planned change is refused at once."""
    read_stories(project, change_id)
    return Job(
        door="run",
        project=project,
        change_id=change_id,
        settings=settings,
        make_plan=_make_plan,
        show=show,
        needs_git=True,
    )


async def _make_plan(parts: Parts) -> Plan:
    settings, project = parts.settings, parts.project
    if not isinstance(parts.repository, Repository):
        raise SpoolError("spool run needs git")
    checkpoints = Checkpoints(
        parts.repository,
        parts.change_id,
        now=parts.clock.now,
        timeout_s=settings.command_timeout,
        large_file_bytes=settings.large_file_mb << 20,
    )
    await checkpoints.expire(parts.clock.now())
    return StoryPlan(
        source=ChangeStories(project, parts.change_id, timeout_s=settings.command_timeout, openspec=_openspec(parts)),
        checkpoints=checkpoints,
        limits=Limits(max_iterations=None, error_threshold=0, rate_limit_pause_s=settings.rate_limit_pause),
        max_retries=settings.max_retries,
        on_resume=OnResume(settings.on_resume),
        question_tool=parts.harness.traits.question_tool,
        learnings=str((parts.folder.path / "learnings.md").relative_to(project.root)),
        read_context=parts.folder.context,
        commit=parts.worktree.commit if settings.commit_stories else None,
        emit=parts.emit,
        clock=parts.clock,
    )


def _openspec(parts: Parts) -> OpenSpec | None:
    """Return an `openspec` to ask, where it is installed and the change is one of its own."""
    project, timeout_s = parts.project, parts.settings.command_timeout
    if project.read(parts.change_id).source != "openspec" or not OpenSpec.installed():
        return None

    async def ask(argv: Sequence[str]) -> bytes:
        return (await run_command(argv, directory=project.root, timeout_s=timeout_s)).output

    return OpenSpec(ask)
