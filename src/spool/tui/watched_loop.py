"""The screen's view of a watched loop: figures, stories, the pages of its journal, its surroundings."""

from datetime import UTC, datetime

from spool.app.loops.client import Client, LoopContext
from spool.domain.account.account import LoopAccount
from spool.domain.account.progress import LoopProgress, StoryHistory, StoryMark
from spool.domain.change.story import StoryList
from spool.domain.loop.events import StoryProgress
from spool.domain.loop.summary import LoopKind, LoopSummary
from spool.errors import SpoolError
from spool.tui.pages import StoryIndex, StoryIndexes


class WatchedLoop:
    """One loop, as far as it has been read. The end of a long journal comes first, then all of it from the start."""

    def __init__(self, client: Client, loop: LoopSummary) -> None:
        self._client = client
        self.loop = loop
        self.feed = client.attach(loop)
        self.progress = LoopProgress(loop.change, whole=loop.door is not LoopKind.RUN)
        self.indexes = StoryIndexes()
        self.stories = StoryList()
        self.scenarios: tuple[str, ...] = ()
        self.around = LoopContext()
        self.replayed = 0.0
        """The share of the journal that is read, from 0 to 1."""
        self.over = False
        self._tail: StoryIndex | None = None

    async def peek(self) -> None:
        """Read the end of a long journal."""
        rows = await self.feed.tail()
        for placed in rows:
            if self._tail is None or isinstance(placed.event, StoryProgress):
                self._tail = StoryIndex()
            self._tail.add(placed)
        if rows:  # until the start of the run is read, the summary says what it is
            loop, progress = self.loop, self.progress
            progress.agent_is(loop.harness, loop.model, loop.sandbox)
            progress.limits, progress.iteration = loop.limits, loop.iteration

    async def look(self) -> None:
        """Read what the journal does not say; what cannot be read stays as it was."""
        try:
            self.around = await self._client.surroundings(self.loop, per_day=self.progress.limits.of_day)
            self.stories = await self._client.stories(self.loop)
            if not self.scenarios:
                self.scenarios = await self._client.scenarios(self.loop)
        except (SpoolError, OSError):  # the agent may be rewriting the change
            pass
        if self.loop.door is LoopKind.RUN:
            self.progress.know(self.stories)

    def end(self, *, just_now: bool) -> None:
        """Note that the runner has exited and everything is read."""
        self.over, self.replayed = True, 1.0
        self.progress.close(datetime.now(UTC) if just_now else None)

    async def reported(self) -> LoopAccount:
        """Return the loop as a report has it."""
        return await self._client.reported(self.loop, self.progress)

    @property
    def reading(self) -> bool:
        """Whether only the end of a long journal is known so far."""
        return self._tail is not None and self.replayed < 1

    @property
    def current(self) -> str | None:
        """The story that the loop works on; by its saved state, until the journal is read."""
        story = self.loop.story
        return story.id if self.reading and story is not None else self.progress.current

    def view(self, selected: str | None) -> StoryHistory | None:
        """Return the story to show: the running one unless another is selected."""
        stories = self.progress.stories
        wanted = self.current if selected is None else selected
        return stories.get(wanted or "") or next(iter(stories.values()), None)

    def index(self, view: StoryHistory) -> StoryIndex:
        """Return the pages of a story."""
        return (
            self._tail if self.reading and self._tail and view.id == (self.current or "") else self.indexes.of(view.id)
        )

    def is_tail(self, index: StoryIndex) -> bool:
        """Whether these are the pages of the end of a long journal."""
        return index is self._tail

    @property
    def kept(self) -> str:
        """A stop in words."""
        story = self.progress.stories.get(self.progress.current or "")
        if story is None or story.mark is StoryMark.DONE or story.iteration is None:
            return "Completed work is kept."
        return f"Completed work is kept; what story {story.id} has so far is in the tree, and its checkpoint is kept."
