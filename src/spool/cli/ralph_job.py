"""Makes the job of `spool ralph`."""

import asyncio

from spool.cli.runner import Job, Parts
from spool.cli.views.viewer import Show
from spool.domain.change import Change
from spool.domain.settings import Settings
from spool.domain.verdict import Limits
from spool.engine.plan import Plan
from spool.engine.ralph import RalphPlan
from spool.sources.project import Project


def ralph_job(
    project: Project, change_id: str, settings: Settings, user_prompt: str, *, show: Show = Show.STREAM
) -> Job:
    """Return the job of looping one prompt over a change."""

    async def make_plan(parts: Parts) -> Plan:
        async def read_change() -> Change:
            return await asyncio.to_thread(project.read, change_id)

        return RalphPlan(
            user_prompt=user_prompt,
            promise=settings.completion_promise,
            limits=limits(settings),
            question_tool=parts.harness.traits.question_tool,
            read_change=read_change,
            read_context=parts.folder.context,
            clock=parts.clock,
        )

    return Job(door="ralph", project=project, change_id=change_id, settings=settings, make_plan=make_plan, show=show)


def limits(settings: Settings) -> Limits:
    """Return when a loop with these settings gives up."""
    return Limits(
        min_iterations=settings.min_iterations,
        max_iterations=settings.max_iterations or None,
        error_threshold=settings.error_threshold,
        error_pause_s=settings.error_pause,
        rate_limit_pause_s=settings.rate_limit_pause,
        fail_fast=settings.fail_fast,
    )
