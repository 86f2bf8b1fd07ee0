"""Reads a change's stories from its files, off the event loop and with a timeout."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from spool.domain.change.change import Change
from spool.domain.change.story import RepairStory, Story, StoryList
from spool.domain.loop.prompt import ChangeTexts
from spool.domain.text.common_fields import carried
from spool.errors import ChangeError, CommandTimeout, Hint
from spool.sources.plan_format import plan_text
from spool.sources.project import Project
from spool.sources.source import Acceptance, FormatTool, Run

_Result = TypeVar("_Result")


class ChangeStories:
    """The stories and prompt texts of one change, from any source."""

    def __init__(
        self,
        project: Project,
        change_id: str,
        *,
        timeout_s: float,
        tool: tuple[FormatTool, Run] | None = None,
        errand: RepairStory | None = None,
        write: Callable[[Path, str], None] | None = None,
    ) -> None:
        self._project = project
        self._change_id = change_id
        self._timeout_s = timeout_s
        self._tool = tool
        self._errand = errand
        self._write = write
        self._concerns: list[str] = []
        self._asked = False

    async def refresh(self) -> StoryList:
        """Return the current stories, and collect the objections of the format's own program, if it has one."""
        found = await self.stories()
        if self._tool is not None:
            tool, run = self._tool
            self._concerns += await tool.concerns(self._change_id, found, run, first=not self._asked)
            self._asked = True
        return found

    async def stories(self) -> StoryList:
        """Return the current stories, and last what Spool itself asks for."""
        found = await self._off_the_loop(lambda: read_stories(self._project, self._change_id))
        return StoryList((*found.stories, self._errand.story)) if self._errand else found

    async def record(self, story: Story, stories: StoryList, evidence: str) -> list[str]:
        """Write an accepted story into the plan, in its format's own way; return warnings. Safe to repeat."""
        accepted = Acceptance(story=story, stories=stories, evidence=evidence)
        try:
            await self._off_the_loop(lambda: self._record(accepted))
        except (ChangeError, OSError) as error:
            return [f"the plan does not say that story {story.id} is accepted: {error}"]
        return []

    def _record(self, accepted: Acceptance) -> None:
        source, change = self._project.source_of(self._change_id), self._project.read(self._change_id)
        if not change.plan_file or self._write is None:
            return
        path = self._project.root / change.plan_file
        text = plan_text(path, change.plan_file)
        if (new := source.record(text, accepted)) != text:
            self._write(path, new)

    def concerns(self) -> list[str]:
        """Return these objections so far, and clear them."""
        concerns, self._concerns = self._concerns, []
        return concerns

    async def prompt_parts(self) -> ChangeTexts:
        """Return the texts that go into every story's prompt."""
        return await self._off_the_loop(self._texts)

    def _texts(self) -> ChangeTexts:
        change = self._project.read(self._change_id)
        return ChangeTexts(task_file=change.task_file, **carried(change, ChangeTexts))

    async def _off_the_loop(self, read: Callable[[], _Result]) -> _Result:
        """Read in a thread: a file system may hang, like a command."""
        try:
            return await asyncio.wait_for(asyncio.to_thread(read), self._timeout_s or None)
        except TimeoutError:
            raise CommandTimeout(
                f"reading change '{self._change_id}' did not finish within {self._timeout_s:g} s",
                hint=Hint.COMMAND_TIMEOUT,
            ) from None


def read_stories(project: Project, change_id: str) -> StoryList:
    """Read a change's stories."""
    return require_stories(project.read(change_id))


def require_stories(change: Change) -> StoryList:
    """Return the stories of a change; refuse a half-planned one, without tasks."""
    stories = change.stories
    if not stories.stories:
        what = "it has no tasks.md" if change.tasks is None else "its tasks.md has no tasks"
        raise ChangeError(f"change '{change.id}' is only half-planned: {what}", hint="write `- [ ] 1.1 …` tasks first")
    return stories
