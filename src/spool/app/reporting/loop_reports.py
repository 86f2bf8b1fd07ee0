"""Collects what a report says of loops: their accounts from the journals, and the diffs of their stories."""

import asyncio
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from spool.app.changes.plan_files import with_noted
from spool.app.changes.resolver import ChangeHere, LoopHere, change_in, loop_meant
from spool.app.loops.loop_list import latest_loop, latest_of_each
from spool.app.loops.reach import Reach, loop_branch
from spool.app.reporting.diffs import Diff, diff_of_story
from spool.app.starting.effective_settings import resolve_settings
from spool.domain.account.account import LoopAccount
from spool.domain.account.progress import LoopProgress
from spool.domain.account.story_history import StoryHistory
from spool.domain.change.story import StoryList
from spool.domain.loop.summary import SCHEMA, LoopKind, LoopSummary
from spool.errors import SpoolError
from spool.host.git.pointers import branch_of, common_of
from spool.host.state.journal import JournalReader
from spool.host.state.landings import Landings
from spool.host.state.loop_store import StateFolder
from spool.host.state.specs import kept_spec
from spool.sources.project import Project, find_project


class LoopReports(msgspec.Struct, frozen=True, kw_only=True):
    """The reports that `spool report --json` prints."""

    schema: int = SCHEMA
    made_at: datetime
    since: datetime | None
    """The start of the report; None for the whole loop."""
    loops: tuple[LoopAccount, ...]


def report_on(name: str | None, reach: Reach, since: datetime | None) -> LoopReports:
    """Return the report of a change or run; without a name, of all loops here that were active since then."""
    now = datetime.now(UTC)
    if name is None:
        loops = _active(reach, since)
        return LoopReports(made_at=now, since=since, loops=tuple(account_loop(loop, since) for loop in loops))
    loop = _find(name, reach)
    run_id = loop.run_id if name in (loop.run_id, loop.id) else ""
    return LoopReports(made_at=now, since=since, loops=(account_loop(loop, since, run_id=run_id),))


def account_loop(loop: LoopSummary, since: datetime | None = None, *, run_id: str = "") -> LoopAccount:
    """Read a loop's journal and return its account; with `run_id`, of this run alone."""
    progress = new_progress(loop, since)
    gone = False
    try:
        reader = JournalReader(StateFolder(Path(loop.folder)).journal)
    except OSError:
        gone = True
    else:
        with closing(reader):
            for event in reader.read():
                if not run_id or event.run_id == run_id:
                    progress.fold(event)
    return settle_account(loop, progress, stories_of(loop), gone=gone)


def new_progress(loop: LoopSummary, since: datetime | None = None) -> LoopProgress:
    """Return what the events of a loop are to be folded into."""
    return LoopProgress(loop.change, whole=loop.door is not LoopKind.RUN, since=since)


def stories_of(loop: LoopSummary) -> StoryList:
    """Return the stories of a loop's change as they stand in its files; none if it has none, or cannot be read."""
    with suppress(SpoolError, OSError):  # the change may be archived, or the agent is rewriting it
        read = Project(Path(loop.directory)).read(loop.change).stories
        return with_noted(Path(loop.root), loop.change, read)
    return StoryList()


def settle_account(loop: LoopSummary, progress: LoopProgress, stories: StoryList, *, gone: bool) -> LoopAccount:
    """Return the account of the events so far; those of a run that is over are closed."""
    if loop.door is LoopKind.RUN and stories.stories:
        progress.know(stories)
    if not loop.running:
        progress.close(loop.ended_at if progress.ended is None else None)
    return reported(loop, progress, gone=gone)


def reported(loop: LoopSummary, progress: LoopProgress, *, gone: bool = False) -> LoopAccount:
    """Return a loop with its account so far."""
    return LoopAccount(
        loop=loop,
        history=progress.at(datetime.now(UTC)),
        branch=loop_branch(loop),
        base_branch=branch_of(Path(loop.project)) if loop.project else "",
        again=_again(loop),
        landing=Landings(common_of(Path(loop.project))).of(loop.change) if loop.project else None,
        gone=gone,
    )


def diffs_of(account: LoopAccount) -> dict[str, Diff]:
    """Return what each story changed; where that is unknown, why."""

    async def each() -> dict[str, Diff]:
        return {story.id: await story_diff(account, story) for story in account.history.stories}

    return asyncio.run(each())


async def story_diff(account: LoopAccount, story: StoryHistory) -> Diff:
    """Return what a story changed; where that is unknown, why."""
    timeout_s = resolve_settings(None).settings.command_timeout
    try:
        return await diff_of_story(account.loop, account.history, story, timeout_s=timeout_s)
    except (SpoolError, OSError) as error:
        return Diff(note=f"no diff available: {error}")


def _find(name: str, reach: Reach) -> LoopSummary:
    """Return the loop of a run id or change; one that the registry no longer lists is found by its state."""
    meant = loop_meant(name, reach)
    if isinstance(meant, LoopHere):
        return meant.loop
    with suppress(SpoolError, OSError):
        change = change_in(find_project(Path(reach.here)), name)
        if isinstance(change, ChangeHere) and (found := latest_loop(change.project.root, change.id)):
            return found
    raise meant.error


def _active(reach: Reach, since: datetime | None) -> list[LoopSummary]:
    """Return the loops here that were active since then, each once, by its latest run."""
    here = [loop for loop in latest_of_each() if reach.holds(loop)]
    return [loop for loop in here if since is None or (loop.ended_at or loop.updated_at) >= since]


def _again(loop: LoopSummary) -> str:
    with suppress(SpoolError, OSError):
        spec = kept_spec(loop.folder)
        return spec.again if spec else ""
    return ""
