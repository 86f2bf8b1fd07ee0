"""The stories of a loop: a column with the tasks and gates of the shown one or, with less room, two lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from spool.domain.account.progress import WHOLE, StoryHistory, StoryMark
from spool.domain.account.story_history import GateView
from spool.domain.change.story import Story, StoryList, StoryTask
from spool.domain.text.plain_text import one_line
from spool.tui.looks import fitted
from spool.tui.theme import selected_style
from spool.tui.watched_loop import WatchedLoop
from spool.tui.widgets.tiles import Tile, TileRow, painted
from spool.views import words
from spool.views.look import DONE, FAILED, MARKS, OPEN, RUNNING, STANDINGS, UNSURE, WAITING, Role, Sign


class StoryPart(msgspec.Struct, frozen=True):
    """A task or a gate: its sign, its words, and a figure at the end of the line."""

    sign: Sign
    words: str
    figure: str = ""
    gate: bool = False


class StoryColumn(Widget):
    """Shows the stories one below the other, each with its parts if all fit, else those of the selected one."""

    @dataclass
    class Picked(Message):
        """A story was clicked."""

        story: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[tuple[Tile, tuple[StoryPart, ...]], ...] = ()
        self._selected = ""
        self._owners: list[str] = []

    def show(self, stories: Sequence[tuple[Tile, tuple[StoryPart, ...]]], selected: str) -> None:
        """Show these stories with their parts."""
        if (tuple(stories), selected) != (self._shown, self._selected):
            self._shown, self._selected = tuple(stories), selected
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Pick the clicked story."""
        at = event.get_content_offset(self)
        if at is not None and 0 <= at.y < len(self._owners):
            self.post_message(self.Picked(self._owners[at.y]))

    def render(self) -> Text:
        """Return the column, with the selected story in view."""
        width, height = self.size
        if not self._shown:
            return Text("waiting for the first story", "dim")
        whole = sum(len(parts) + 2 for _, parts in self._shown) - 1 <= height
        lines, owners = list[Text](), list[str]()
        top = 0
        for tile, parts in self._shown:
            chosen = tile.id == self._selected
            top = len(lines) if chosen else top
            style = selected_style(self.app.current_theme) if chosen else ""
            own = [_head(tile, width, style)]
            own += [_line(part, width) for part in parts] if whole or chosen else []
            own += [Text()] if whole else []
            lines += own
            owners += [tile.id] * len(own)
        first = max(0, min(top - 2, len(lines) - height))
        self._owners = owners[first : first + height]
        return Text("\n", no_wrap=True).join(lines[first : first + height])


class Stories(Container):
    """Shows where the stories stand; posts the one that was clicked."""

    @dataclass
    class Picked(Message):
        """A story was clicked."""

        story: str

    def compose(self) -> ComposeResult:
        """Create the column, and the two lines that stand for it."""
        yield StoryColumn(id="column")
        yield TileRow("waiting for the first story", id="row")
        yield Static(id="task", markup=False)

    def show(self, watch: WatchedLoop, shown: StoryHistory | None) -> None:
        """Show the stories of a loop."""
        stories = watch.progress.stories.values()
        tiles = [tile_of(one, running=watch.reading and one.id == watch.current) for one in stories]
        selected = shown.id if shown else ""
        parts = {one.id: parts_of(one, watch.stories, watch.around.gates) for one in stories}
        self.query_one(StoryColumn).show([(tile, parts[tile.id]) for tile in tiles], selected)
        self.query_one(TileRow).show(tiles, selected)
        line = Text(no_wrap=True, overflow="ellipsis")
        if shown is not None:
            done, total, task = open_task(shown, watch.stories)
            line.append(f" {done} of {total} tasks" if total else " no tasks", Role.DIM.style)
            for part in (one for one in parts[shown.id] if one.gate):
                line.append("  ").append(part.sign.sign, part.sign.role.style).append(f" {one_line(part.words, 24)}")
            line.append(f"  {OPEN} {one_line(task, 200)}" if task else "")
        self.query_one("#task", Static).update(line, layout=False)

    @on(StoryColumn.Picked)
    def _in_column(self, event: StoryColumn.Picked) -> None:
        event.stop()
        self.post_message(self.Picked(event.story))

    @on(TileRow.Picked)
    def _in_row(self, event: TileRow.Picked) -> None:
        event.stop()
        self.post_message(self.Picked(event.tile))


def tile_of(story: StoryHistory, *, running: bool = False) -> Tile:
    """Return a story as a tile; what is done says what that rests on."""
    tries = f" ×{story.attempts}" if story.attempts > 1 else ""  # noqa: RUF001 - the sign that people read as "times"
    name = one_line(f"{story.id} {story.title}".strip(), 60) + tries
    sign = MARKS[StoryMark.RUNNING if running else story.mark]
    rests_on = str(story.standing) if story.mark is StoryMark.DONE else ""
    if rests_on and not running:  # done, in the colour of what that rests on
        sign = sign._replace(role=STANDINGS[story.standing].role)
    return Tile(story.id, name, one_line(story.id or story.title, 12), sign, rests_on)


def parts_of(story: StoryHistory, stories: StoryList, gates: Sequence[str]) -> tuple[StoryPart, ...]:
    """Return the tasks of a story, and its gates once it has begun."""
    found = [_task(task) for one in _shown(story, stories) for task in one.tasks]
    if story.iteration is not None or story.gates:
        names = dict.fromkeys((*gates, *story.gates))
        found += [StoryPart(Sign("─", Role.DIM), "", "gates")] if names else []
        found += [_gate(name, story.gates.get(name, GateView())) for name in names]
    return tuple(found)


def open_task(story: StoryHistory, stories: StoryList) -> tuple[int, int, str]:
    """Return how many tasks of a story are done, how many there are, and the first open one."""
    tasks = [task for one in _shown(story, stories) for task in one.tasks]
    first = next((f"{task.id} {task.text}" for task in tasks if task.open), "")
    return sum(not task.open for task in tasks), len(tasks), first


def _shown(story: StoryHistory, stories: StoryList) -> list[Story]:
    return [one for one in stories.stories if story.id in (one.id, WHOLE)]


def _task(task: StoryTask) -> StoryPart:
    sign = Sign(DONE, Role.GOOD) if task.done else Sign(OPEN if task.open else task.mark, Role.DIM)
    return StoryPart(sign, f"{task.id} {task.text}".strip())


def _gate(name: str, gate: GateView) -> StoryPart:
    """Return a gate: still to run, running for how long of the last time's, or what it said."""
    usual = words.duration(gate.expected_s) if gate.expected_s else ""
    if gate.since is not None:
        passed = words.duration(max(0.0, (datetime.now(UTC) - gate.since).total_seconds()))
        figure = f"{passed} of {usual}" if usual else passed
        return StoryPart(Sign(RUNNING, Role.ODD), words.gate(name, gate.purpose), figure, gate=True)
    if gate.green is None:
        return StoryPart(Sign(WAITING, Role.DIM), name, gate=True)
    red = Sign(FAILED, Role.BAD) if gate.weighed else Sign(UNSURE, Role.WARN)
    return StoryPart(Sign(DONE, Role.GOOD) if gate.green else red, name, usual, gate=True)


def _head(tile: Tile, width: int, style: str) -> Text:
    """Return the line of a story, with what is said of it at the end."""
    room = width - 4 - len(tile.note)
    text = painted(tile, fitted(tile.words, max(1, room)) + tile.note, style)
    if tile.note:
        text.stylize(Role.DIM.style, text.cell_len - len(tile.note) - 1)
    return text


def _line(part: StoryPart, width: int) -> Text:
    figure = f"{part.figure} " if part.figure else ""
    text = fitted(part.words, max(1, width - 6 - len(figure))) + " " if part.words else ""
    style = Role.DIM.style if part.sign.sign == DONE else ""
    return Text.assemble("   ", (part.sign.sign, part.sign.role.style), (f" {text}", style), (figure, Role.DIM.style))
