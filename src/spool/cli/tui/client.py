"""The machine behind the screen: what `spool.tui.client.Client` asks for."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from spool.cli.tui.changes import rows
from spool.cli.tui.feed import LocalFeed
from spool.cli.tui.runner import StartedRunner
from spool.domain.prompt import StoryPrompt, build_story_prompt
from spool.domain.settings import Layer, Settings, merge
from spool.domain.story import StoryList, parse_stories
from spool.domain.verdict import Status
from spool.errors import SpoolError, UsageError
from spool.harness import registry
from spool.host.agents.sweep import signal_exactly
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.difference import compare, copy_out
from spool.host.git.repository import NoRepository, find_repository
from spool.host.runner.identity import start_time
from spool.host.state.store import StateFolder
from spool.sources.project import Project
from spool.sources.stories import ChangeStories, read_scenarios, read_stories
from spool.tui.client import ChangeRow, Diff, FileDiff, LoopRef, Preview

_LARGEST_CONTEXT = 1 << 20


class LocalClient:
    """Reads the files of this machine, starts runners on it and signals them."""

    def __init__(self, project: Project, settings: Settings, *, fresh: bool = False) -> None:
        self._project = project
        self._fresh = fresh
        self._repository: str | None = None
        self._started: dict[int, StartedRunner] = {}
        self.settings = settings

    @property
    def harnesses(self) -> list[str]:
        """The agents that can be picked."""
        return registry.names(self.settings.harnesses)

    def check(self, values: Mapping[str, str | bool]) -> Settings:
        """Return the settings with what a person has typed, or raise a UsageError."""
        typed: dict[str, object] = dict(values)
        typed["model"] = values.get("model") or None
        current = {name: getattr(self.settings, name) for name in self.settings.__struct_fields__}
        checked = merge([Layer("", current), Layer("", typed)]).settings
        registry.find(checked.harness, checked.harnesses)
        self.settings = checked
        return checked

    async def changes(self) -> list[ChangeRow]:
        """Return the active changes, and the loops that run elsewhere."""
        if self._repository is None:
            found = await find_repository(self._project.root, timeout_s=self.settings.command_timeout)
            self._repository = str(self._project.root if isinstance(found, NoRepository) else found.main)
        return await asyncio.to_thread(rows, self._project, self._repository)

    async def preview(self, change: str) -> Preview:
        """Return what there is to read of a change."""
        return await asyncio.to_thread(self._preview, change)

    async def prompt(self, change: str, settings: Settings) -> str:
        """Return exactly what the agent will get for the next story."""
        async with self._as_the_runner_will_find_it(change, settings) as project:
            source = ChangeStories(project, change, timeout_s=settings.command_timeout)
            story = (await source.stories()).next
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
                learnings=str((folder.path / "learnings.md").relative_to(self._project.root)),
                context=folder.context(),
                question_tool=registry.find(settings.harness, settings.harnesses).traits.question_tool,
            )
        )

    @asynccontextmanager
    async def _as_the_runner_will_find_it(self, change: str, settings: Settings) -> AsyncIterator[Project]:
        """Give the project; one whose last run was stopped goes back to its checkpoint before the agent is asked."""
        timeout_s = settings.command_timeout
        repository = await find_repository(self._project.root, timeout_s=timeout_s)
        if isinstance(repository, NoRepository):
            yield self._project
            return
        saved = Checkpoints(repository, change, now=lambda: datetime.now(UTC), timeout_s=timeout_s)
        left = await saved.current()
        if left is None or (settings.on_resume == "keep" and not left.half_reverted):
            yield self._project
            return
        inside = self._project.root.relative_to(repository.top)
        with TemporaryDirectory(prefix="spool-preview-") as folder:
            places = (str(inside / name) for name in (".spool", "openspec"))
            await copy_out(repository, left.tree, Path(folder), *places, timeout_s=timeout_s)
            yield Project(Path(folder) / inside)

    async def start(self, change: str, settings: Settings) -> LoopRef:
        """Start a runner in a session of its own."""
        runner = StartedRunner(self._project.root, change, settings, fresh=self._fresh)
        self._fresh = False
        self._started[runner.pid] = runner
        return LoopRef(
            door="run",
            change=change,
            root=str(self._project.root),
            state=str(self._folder(change).path),
            pid=runner.pid,
            start_time=start_time(runner.pid) or "",
        )

    def attach(self, loop: LoopRef) -> LocalFeed:
        """Replay a loop's journal and follow it."""
        return LocalFeed(loop, self._started.get(loop.pid))

    async def stories(self, loop: LoopRef) -> StoryList:
        """Return the stories of a loop's change as they stand now."""
        project = Project(Path(loop.root))
        return await asyncio.to_thread(lambda: parse_stories(project.read(loop.change).tasks or ""))

    async def scenarios(self, loop: LoopRef) -> tuple[str, ...]:
        """Return the scenarios that a loop's change must fulfil."""
        project = Project(Path(loop.root))
        return await asyncio.to_thread(
            lambda: tuple(read_scenarios(project.root / project.read(loop.change).directory))
        )

    async def diff(self, loop: LoopRef, tree: str, until: str) -> Diff:
        """Return what has changed since a checkpoint's tree, in the working tree or in that of a later checkpoint."""
        timeout_s = self.settings.command_timeout
        repository = await find_repository(Path(loop.root), timeout_s=timeout_s)
        if isinstance(repository, NoRepository):
            return Diff(note=f"nothing can be compared: {repository.why}")
        changed = await compare(repository, tree, until, timeout_s=timeout_s)
        return Diff(
            files=tuple(
                FileDiff(path=file.path, added=file.added, removed=file.removed, patch=file.patch) for file in changed
            )
        )

    async def add_context(self, loop: LoopRef, text: str) -> None:
        """Add a note that the next iteration will read."""
        if not text.strip():
            raise UsageError("there is nothing to add")
        if len(text) > _LARGEST_CONTEXT:
            raise UsageError("that is more than 1 MiB of context")
        await asyncio.to_thread(_folder_of(loop).add_context, text)

    def stop(self, loop: LoopRef) -> bool:
        """Ask a runner to stop; return whether it was there to be asked."""
        return signal_exactly(loop.pid, loop.start_time, signal.SIGTERM)

    def force(self, loop: LoopRef) -> None:
        """Have a process of its own see to it that the runner and its agent die; nobody waits for that."""
        subprocess.Popen(
            [sys.executable, "-P", "-m", "spool.host.runner.enforce", str(loop.pid), loop.start_time],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _folder(self, change: str) -> StateFolder:
        return StateFolder(self._project.state / "run" / change)

    def _preview(self, change: str) -> Preview:
        read = self._project.read(change)
        info = next((info for info in self._project.changes() if info.id == change), None)
        return Preview(
            change=change,
            title=info.title if info else change,
            proposal=read.proposal,
            tasks=read.tasks or "",
            scenarios=tuple(read_scenarios(self._project.root / read.directory)),
            stories=parse_stories(read.tasks or ""),
            notice=self._notice(change),
        )

    def _notice(self, change: str) -> str:
        try:
            stories = read_stories(self._project, change)
            state = self._folder(change).load()
        except SpoolError as error:
            return f"{error}. {error.hint}" if error.hint else str(error)
        if stories.next is None:
            return "every story is complete; there is nothing left to run"
        if state is None or state.story is None or state.status is Status.DONE:
            return ""
        return (
            f"an earlier run ended in story {state.story.id}; R goes on from its checkpoint, "
            "or from the tree as it is, as the settings say"
        )


def _folder_of(loop: LoopRef) -> StateFolder:
    return StateFolder(Path(loop.state))


def _next_iteration(folder: StateFolder, *, fresh: bool) -> int:
    state = None if fresh else folder.load()
    return 1 if fresh else max(state.iteration if state else 0, folder.last_iteration()) + 1
