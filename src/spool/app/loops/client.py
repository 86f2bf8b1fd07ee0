"""Gives the screen access to changes, loops, their journals and their control."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from spool.app.changes.change_rows import ChangeRow, change_rows
from spool.app.changes.plan_files import with_noted
from spool.app.loops.control import ask_to_stop
from spool.app.loops.feed import Feed
from spool.app.loops.loop_context import ContextReader, LoopContext
from spool.app.loops.loop_list import as_it_stands
from spool.app.loops.notes import add_note
from spool.app.machine.agent_programs import installed
from spool.app.reporting.diffs import Diff, FileChange, diff_between
from spool.app.reporting.loop_reports import reported
from spool.app.starting.construction import learnings_of, new_spec
from spool.app.starting.edited_tree import Edited, find_edits
from spool.app.starting.launch import Launched, in_background
from spool.app.starting.workspace_start import place
from spool.domain.account.account import LoopAccount
from spool.domain.account.progress import LoopProgress
from spool.domain.change.story import StoryList
from spool.domain.change.tasks import BOXLESS
from spool.domain.loop.prompt import StoryPrompt, build_story_prompt
from spool.domain.loop.settings import Layer, Settings, merge
from spool.domain.loop.spec import Show, expected
from spool.domain.loop.summary import LoopKind, LoopSummary, state_path
from spool.domain.loop.verdict import Status
from spool.errors import SpoolError
from spool.harness import registry
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.difference import copy_out
from spool.host.git.repository import NoRepository, find_repository
from spool.host.runner.identity import start_time, this_runner
from spool.host.state.journal import JournalEntry
from spool.host.state.loop_store import StateFolder
from spool.sources.project import Project
from spool.sources.story_source import ChangeStories, read_stories

__all__ = [
    "ChangePreview",
    "ChangeRow",
    "Client",
    "Diff",
    "Edited",
    "Feed",
    "FileChange",
    "JournalEntry",
    "LoopContext",
]


class ChangePreview(msgspec.Struct, frozen=True, kw_only=True):
    """A change as shown before its loop starts."""

    change: str
    title: str
    proposal: str
    tasks: str
    scenarios: tuple[str, ...] = ()
    stories: StoryList = StoryList()
    notice: str = ""
    """Why the loop cannot start, or what an earlier run left."""
    running: LoopSummary | None = None
    """The loop that is running on the change."""


class Client:
    """Reads the files of this machine, starts runners on it and signals them."""

    def __init__(
        self,
        project: Project,
        settings: Settings,
        *,
        fresh: bool = False,
        on_resume: str = "",
        again: Callable[[str, Settings], str] = lambda *_: "",
    ) -> None:
        self._project = project
        self._again = again
        self._fresh = fresh
        self._on_resume = on_resume
        self._repository: str | None = None
        self._launched: dict[str, Launched] = {}
        self._lookout = ContextReader()
        self.settings = settings

    @property
    def harnesses(self) -> list[str]:
        """The names of the installed agents."""
        return installed(self.settings)

    def check(self, values: Mapping[str, str | bool]) -> Settings:
        """Return the settings with the typed values applied, or raise a UsageError."""
        typed: dict[str, object] = dict(values)
        typed["model"] = values.get("model") or None
        checked = merge([Layer("", typed)], onto=self.settings).settings
        registry.find(checked.harness, checked.harnesses)
        self.settings = checked
        return checked

    async def changes(self) -> list[ChangeRow]:
        """Return the active changes, and the loops running in other worktrees."""
        if self._repository is None:
            found = await find_repository(self._project.root, timeout_s=self.settings.command_timeout)
            self._repository = str(self._project.root if isinstance(found, NoRepository) else found.main)
        return await asyncio.to_thread(change_rows, self._project, self._repository)

    async def running(self, change: str) -> LoopSummary | None:
        """Return the loop that is running on a change, in this tree or in another one of the repository."""
        return next((row.loop for row in await self.changes() if row.id == change and row.running), None)

    async def preview(self, change: str) -> ChangePreview:
        """Return the preview of a change."""
        running = await self.running(change)
        return msgspec.structs.replace(await asyncio.to_thread(self._preview, change), running=running)

    async def prompt(self, change: str, settings: Settings) -> str:
        """Return the exact prompt of the next story."""
        async with self._project_at_start(change, settings) as project:
            source = ChangeStories(project, change, timeout_s=settings.command_timeout)
            story = with_noted(self._project.root, change, await source.stories()).next
            if story is None:
                return ""
            texts = await source.prompt_parts()
        folder = self._folder(change)
        return build_story_prompt(
            StoryPrompt(
                iteration=await asyncio.to_thread(_next_iteration, folder, fresh=self._fresh),
                attempt=1,
                max_attempts=settings.max_retries + 1,
                story=story,
                change=texts,
                learnings=learnings_of(change),
                context=folder.context(),
                question_tool=registry.find(settings.harness, settings.harnesses).traits.question_tool,
            )
        )

    @asynccontextmanager
    async def _project_at_start(self, change: str, settings: Settings) -> AsyncIterator[Project]:
        """Yield the project as the agent will see it: at its checkpoint, if the runner will revert to one first."""
        timeout_s = settings.command_timeout
        repository = await find_repository(self._project.root, timeout_s=timeout_s)
        if isinstance(repository, NoRepository):
            yield self._project
            return
        saved = Checkpoints(repository, change, now=lambda: datetime.now(UTC), timeout_s=timeout_s)
        left = await saved.current()
        if left is None or self._fresh or not (left.half_reverted or await self._reverts(change, settings)):
            yield self._project
            return
        inside = self._project.root.relative_to(repository.top)
        with TemporaryDirectory(prefix="spool-preview-") as folder:
            own = (str(path.relative_to(self._project.root)) for path in self._project.paths_of(change))
            places = (str(inside / name) for name in (".spool", *own))
            await copy_out(repository, left.tree, Path(folder), *places, timeout_s=timeout_s)
            yield Project(Path(folder).resolve() / inside)

    async def _reverts(self, change: str, settings: Settings) -> bool:
        if self._on_resume or settings.on_resume == "keep":
            return (self._on_resume or settings.on_resume) == "revert"
        return await find_edits(self._project.root, change, settings) is None

    async def edits(self, change: str, settings: Settings) -> Edited | None:
        """Return what was edited since an earlier run, if a person has to decide what becomes of it."""
        if self._on_resume or self._fresh or settings.on_resume == "keep":
            return None
        return await find_edits(self._project.root, change, settings)

    async def start(self, change: str, settings: Settings, *, on_resume: str = "") -> LoopSummary:
        """Start a loop in the background."""
        spec = new_spec(
            LoopKind.RUN,
            self._project.root,
            change,
            settings,
            fresh=self._fresh,
            show=Show.NOTHING,
            on_resume=on_resume or self._on_resume,
            again=self._again(change, settings),
        )
        self._fresh = False
        spec = await asyncio.to_thread(place, spec, None)
        launched = self._launched[spec.run_id] = await asyncio.to_thread(in_background, spec)
        runner = msgspec.structs.replace(this_runner(), pid=launched.pid, start_time=start_time(launched.pid) or "")
        return expected(spec, runner, datetime.now(UTC))

    def has_started(self, loop: LoopSummary) -> bool:
        """Whether this process started a loop."""
        return loop.run_id in self._launched

    def attach(self, loop: LoopSummary) -> Feed:
        """Replay a loop's journal and follow it."""
        folder, runner, launched = Path(loop.folder), loop.runner, self._launched.get(loop.run_id)

        def alive() -> bool:
            if launched is not None and launched.failed:  # also reaps a runner that has exited
                return False
            return bool(runner.start_time) and start_time(runner.pid) == runner.start_time

        def ready() -> bool:
            """Whether a runner just started has taken over its folder, or has exited without doing so."""
            return launched is None or not alive() or StateFolder(folder).of_run(loop.run_id) is not None

        return Feed(folder, alive, ready)

    def complaint(self, loop: LoopSummary) -> str:
        """Return the error of a runner that failed before its first iteration."""
        launched = self._launched.get(loop.run_id)
        found = launched.summary() if launched else None
        if found is not None and not found.run_iteration and found.status is Status.STOPPED:
            return found.reason
        return (launched.why_not or launched.said()) if launched and found is None else ""

    async def surroundings(self, loop: LoopSummary, *, per_day: bool) -> LoopContext:
        """Return a loop's surroundings; `per_day` also reads the usage of all loops today."""
        return await asyncio.to_thread(self._lookout.around, loop, per_day=per_day)

    async def reported(self, loop: LoopSummary, progress: LoopProgress) -> LoopAccount:
        """Return a loop as a report has it."""
        return reported(await asyncio.to_thread(as_it_stands, loop), progress)

    async def stories(self, loop: LoopSummary) -> StoryList:
        """Return the current stories of a loop's change."""
        project = Project(Path(loop.directory))
        read = await asyncio.to_thread(lambda: project.read(loop.change).stories)
        return with_noted(Path(loop.root), loop.change, read)

    async def scenarios(self, loop: LoopSummary) -> tuple[str, ...]:
        """Return the scenarios of a loop's change."""
        project = Project(Path(loop.directory))
        return await asyncio.to_thread(lambda: project.read(loop.change).scenarios)

    async def diff(self, loop: LoopSummary, tree: str, until: str) -> Diff:
        """Return the changes since a checkpoint's tree, up to a later one or to the working tree."""
        return await diff_between(loop, tree, until, timeout_s=self.settings.command_timeout)

    async def add_context(self, loop: LoopSummary, text: str) -> None:
        """Add a note that every later iteration reads."""
        await asyncio.to_thread(add_note, Path(loop.folder), text)

    def stop(self, loop: LoopSummary) -> bool:
        """Ask a runner to stop; return whether it was alive."""
        return ask_to_stop(loop, "q")

    def force(self, loop: LoopSummary) -> None:
        """Kill a runner and its agent from a separate process, without waiting."""
        subprocess.Popen(
            [sys.executable, "-P", "-m", "spool.host.runner.enforcement", str(loop.runner.pid), loop.runner.start_time],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _folder(self, change: str) -> StateFolder:
        return StateFolder(Path(state_path(str(self._project.root), LoopKind.RUN, change)))

    def _preview(self, change: str) -> ChangePreview:
        read = self._project.read(change)
        info = next((info for info in self._project.changes() if info.id == change), None)
        return ChangePreview(
            change=change,
            title=info.title if info else change,
            proposal=read.proposal,
            tasks=(read.tasks or "").replace(f"- [{BOXLESS}] ", "- "),
            scenarios=read.scenarios,
            stories=with_noted(self._project.root, change, read.stories),
            notice=self._notice(change),
        )

    def _notice(self, change: str) -> str:
        try:
            stories = with_noted(self._project.root, change, read_stories(self._project, change))
            state = self._folder(change).load()
        except SpoolError as error:
            return error.advice
        if stories.next is None:
            return "all stories are complete; nothing left to run"
        if state is None or state.story is None or state.status is Status.DONE:
            return ""
        return (
            f"an earlier run ended in story {state.story.id}; R continues from its checkpoint "
            "or from the tree as it is, depending on the settings"
        )


def _next_iteration(folder: StateFolder, *, fresh: bool) -> int:
    state = None if fresh else folder.load()
    return 1 if fresh else max(state.iteration if state else 0, folder.last_iteration()) + 1
