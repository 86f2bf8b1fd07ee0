"""Reads a change as a whole, says what is wrong with it, and archives it."""

import asyncio
import os
from datetime import date

import msgspec

from spool.app.changes.format_tool import require_tool, tool_runner, usable_tool
from spool.app.changes.plan_files import with_noted
from spool.app.loops.loop_list import latest_loop
from spool.domain.change.advice import Advice, findings
from spool.domain.change.change import Change
from spool.domain.change.story import StoryList
from spool.domain.loop.settings import Settings
from spool.domain.loop.summary import LoopSummary
from spool.errors import ChangeError, CommandError, SpoolError, UsageError
from spool.sources.project import Project
from spool.sources.registry import tool_of
from spool.sources.source import FormatTool, Run

_ARCHIVE_TIMEOUT_S = 120.0


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A change, what it says, where it stands, and what an agent would stumble over in it."""

    change: Change
    stories: StoryList
    loop: LoopSummary | None
    findings: tuple[Advice, ...]


def review(project: Project, change_id: str, settings: Settings) -> Review:
    """Read a change with its stories and its latest loop, and look for what an agent would stumble over."""
    change = project.read(change_id)
    stories = with_noted(project.root, change_id, change.stories)
    doubled = project.doubled(change_id)
    advice = [Advice(serious=False, what=doubled)] if doubled else []
    return Review(
        change=change,
        stories=stories,
        loop=latest_loop(project.root, change_id),
        findings=(*advice, *findings(change, stories, gates=len(settings.gates))),
    )


def open_tasks(project: Project, change_id: str) -> int:
    """Return the number of tasks that are left."""
    stories = with_noted(project.root, change_id, project.read(change_id).stories)
    return sum(len(story.open) for story in stories.stories)


def examine(project: Project, change_id: str, settings: Settings) -> tuple[Advice, ...]:
    """Return what an agent would stumble over; a format's own program adds its objections."""
    try:
        found = review(project, change_id, settings)
    except ChangeError as error:
        return (Advice(serious=True, what=str(error), hint=error.hint),)
    usable = usable_tool(found.change.source, project.root, timeout_s=settings.command_timeout)
    return (*asyncio.run(_objections(change_id, *usable)), *found.findings) if usable else found.findings


async def _objections(change_id: str, tool: FormatTool, run: Run) -> tuple[Advice, ...]:
    try:
        against = await tool.objections(change_id, run)
    except CommandError as error:
        return (Advice(serious=False, what=str(error)),)
    return (Advice(serious=True, what=f"{tool.name}: {against}"),) if against else ()


def archive(project: Project, change_id: str, *, today: date) -> str:
    """Archive a change and return what happened; a format's own program does it where there is one."""
    change = project.read(change_id)
    if change.plan_file:
        raise UsageError(f"{change.plan_file} is a plan file of yours", hint="move or delete it as you like")
    if (loop := latest_loop(project.root, change_id)) is not None and loop.running:
        raise SpoolError(f"a loop is running on {change_id}", hint=f"stop it first: spool stop {loop.id}")
    if (tool := tool_of(change.source)) is not None:
        require_tool(tool, f"it archives {change_id} and merges its specs")
        return asyncio.run(tool.archive(change_id, tool_runner(tool, project.root, timeout_s=_ARCHIVE_TIMEOUT_S)))
    folder = project.root / change.directory
    target = folder.parent / "archive" / f"{today:%Y-%m-%d}-{change_id}"
    if os.path.lexists(target):
        raise UsageError(f"{target} already exists")
    target.parent.mkdir(exist_ok=True)
    folder.rename(target)
    return f"Archived as {target.relative_to(project.root)}."
