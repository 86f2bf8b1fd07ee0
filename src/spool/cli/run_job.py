"""Makes the job of `spool run`."""

from collections.abc import Sequence

from spool.cli.runner import Job, Parts
from spool.cli.views.viewer import Show
from spool.domain.events import Warned
from spool.domain.settings import Settings
from spool.engine.plan import Plan
from spool.engine.stories import OnResume, StoryPlan
from spool.errors import CommandFailed, CommandTimeout, SpoolError
from spool.host.checkpoints import StoryCheckpoints
from spool.host.git import Repository
from spool.host.process import run_command
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
    source = ChangeStories(project, parts.change_id, timeout_s=settings.command_timeout)
    await _ask_openspec(parts, source)
    return StoryPlan(
        source=source,
        checkpoint=StoryCheckpoints(
            parts.repository,
            parts.change_id,
            timeout_s=settings.command_timeout,
            large_file_bytes=settings.large_file_mb << 20,
        ),
        max_retries=settings.max_retries,
        on_resume=OnResume(settings.on_resume),
        question_tool=parts.harness.traits.question_tool,
        learnings=str((parts.folder.path / "learnings.md").relative_to(project.root)),
        read_context=parts.folder.context,
        commit=parts.worktree.commit if settings.commit_stories else None,
        emit=parts.emit,
        clock=parts.clock,
    )


async def _ask_openspec(parts: Parts, source: ChangeStories) -> None:
    """Warn of what openspec objects to, where it is installed and the change is one of its own."""
    project, settings = parts.project, parts.settings
    if project.read(parts.change_id).source != "openspec" or not OpenSpec.installed():
        return

    async def ask(argv: Sequence[str]) -> bytes:
        done = await run_command(argv, directory=project.root, timeout_s=settings.command_timeout)
        return done.output

    try:
        for concern in await OpenSpec(ask).concerns(parts.change_id, await source.stories()):
            parts.emit(Warned(message=concern))
    except (CommandTimeout, CommandFailed) as error:
        parts.emit(Warned(message=str(error)))
