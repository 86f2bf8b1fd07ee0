"""The stories of a loop: a column with the tasks and gates of the shown one or, with less room, two lines."""

from dataclasses import dataclass

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.widgets import Static

from spool.domain.account.progress import StoryView
from spool.domain.text.plain_text import one_line
from spool.tui.watched_loop import WatchedLoop
from spool.tui.widgets.story_column import StoryColumn, open_task, parts_of, tile_of
from spool.tui.widgets.tiles import TileRow
from spool.views.look import OPEN, Role


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

    def show(self, watch: WatchedLoop, shown: StoryView | None) -> None:
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
