"""Reads a change as a whole, says what is wrong with it, and archives it."""

import asyncio
import os
from datetime import date

import msgspec

from spool.app.changes.openspec_command import objections, run_openspec, said
from spool.app.changes.plan_files import with_noted
from spool.app.loops.loop_list import latest_loop
from spool.domain.change.advice import Advice, findings
from spool.domain.change.change import Change
from spool.domain.change.story import StoryList, parse_stories
from spool.domain.loop.settings import Settings
from spool.domain.loop.summary import LoopSummary
from spool.errors import ChangeError, CommandError, SpoolError, UsageError
from spool.sources.openspec import OpenSpec
from spool.sources.project import Project

_ARCHIVE_TIMEOUT_S = 120.0


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A change, what it says and where it stands."""

    change: Change
    stories: StoryList
    loop: LoopSummary | None = None

    @property
    def open_tasks(self) -> int:
        """The number of tasks that are left."""
        return sum(len(story.open) for story in self.stories.stories)


def review(project: Project, change_id: str) -> Review:
    """Read a change with its stories and its latest loop."""
    change = project.read(change_id)
    stories = with_noted(project.root, change_id, parse_stories(change.tasks or ""))
    return Review(change=change, stories=stories, loop=latest_loop(project.root, change_id))


def validate(project: Project, change_id: str, settings: Settings) -> tuple[Advice, ...]:
    """Return what an agent would stumble over; OpenSpec's own command adds its objections to its changes."""
    try:
        found = review(project, change_id)
    except ChangeError as error:
        return (Advice(serious=True, what=str(error), hint=error.hint),)
    doubled = project.doubled(found.change.id)
    advice = (
        *([Advice(serious=False, what=doubled)] if doubled else ()),
        *findings(found.change, found.stories, gates=len(settings.gates)),
    )
    if found.change.source != "openspec" or not OpenSpec.installed():
        return advice
    return (*asyncio.run(_objections(project, change_id, settings)), *advice)


async def _objections(project: Project, change_id: str, settings: Settings) -> tuple[Advice, ...]:
    try:
        against = await objections(change_id, directory=project.root, timeout_s=settings.command_timeout)
    except CommandError as error:
        return (Advice(serious=False, what=str(error)),)
    return (Advice(serious=True, what=f"openspec: {against}"),) if against else ()


def archive(project: Project, change_id: str, *, today: date) -> str:
    """Archive a change and return what happened; OpenSpec's own command merges the specs of its changes."""
    change = project.read(change_id)
    if change.plan_file:
        raise UsageError(f"{change.plan_file} is a plan file of yours", hint="move or delete it as you like")
    if (loop := latest_loop(project.root, change_id)) is not None and loop.running:
        raise SpoolError(f"a loop is running on {change_id}", hint=f"stop it first: spool stop {loop.id}")
    if change.source == "openspec":
        return _by_openspec(project, change_id)
    folder = project.root / change.directory
    target = folder.parent / "archive" / f"{today:%Y-%m-%d}-{change_id}"
    if os.path.lexists(target):
        raise UsageError(f"{target} already exists")
    target.parent.mkdir(exist_ok=True)
    folder.rename(target)
    return f"Archived as {target.relative_to(project.root)}."


def _by_openspec(project: Project, change_id: str) -> str:
    if not OpenSpec.installed():
        hint = "install it: it also merges the change's specs"
        raise UsageError(f"{change_id} is a change of OpenSpec, and the command openspec is not installed", hint=hint)
    words = ("archive", change_id, "--yes")
    done = asyncio.run(run_openspec(words, directory=project.root, timeout_s=_ARCHIVE_TIMEOUT_S))
    if done.exit_code != 0:
        raise SpoolError(f"openspec archive failed: {said(done)}")
    return done.text.strip() or f"Archived {change_id}."
