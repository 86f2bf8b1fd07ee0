"""The loop screen: shows a loop's journal, and can stop the loop or add a note."""

import time
from datetime import UTC, datetime
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from spool.app.client import Client
from spool.domain.loop import Door, LoopSummary
from spool.domain.progress import LoopProgress, Mark, StoryView
from spool.domain.story import StoryList
from spool.domain.text import one_line
from spool.errors import SpoolError
from spool.tui.bridge import Bridge
from spool.tui.pages import StoryIndexes
from spool.tui.screens.base import KeyedScreen, SpoolScreen, freeze_live_objects
from spool.tui.screens.note import NoteScreen
from spool.tui.screens.result import ResultScreen
from spool.tui.stopping import HINT_AFTER_S, Answer, StopKey
from spool.tui.turns import one_at_a_time
from spool.tui.widgets.key_line import KeyLine
from spool.tui.widgets.line import Line
from spool.tui.widgets.loop_title import LoopTitle
from spool.tui.widgets.meter import Meter
from spool.tui.widgets.story_strip import StoryStrip, Tile
from spool.tui.widgets.story_tabs import StoryTabs
from spool.tui.widgets.tabbed import Tabbed
from spool.views import words

_PAINT_S = 0.08
_POLL_S = 1.0
_SELECTION = 2
"""The screen count when the selection is on top: itself, and Textual's own below it."""
_KEYS_AT_THE_END = (
    Binding("q", "stop", "Back"),
    Binding("s", "result", "Result"),
    Binding("left", "move_story(1)", "Story", key_display="←→"),
)


class LoopScreen(SpoolScreen):
    """Shows the stories, the agent's output, its changes, and the figures."""

    KEYS = (
        ("Left, Right", "show the previous or next story"),
        ("Esc", "back to the running story"),
        ("Tab, Shift-Tab", "switch tabs"),
        ("Up, PgUp, Home", "scroll, and stop following the end"),
        ("End", "scroll to the end and follow it"),
        ("n, p", "mark the next or previous call or file"),
        ("Enter, click", "fold or unfold it"),
        ("f", "fold or unfold all"),
        ("a", "add a note to all later prompts"),
        ("s", "show the result so far"),
        ("d", "leave the loop running"),
        ("q", "stop the loop; nothing is lost"),
        ("q q q", "within three seconds: force-quit"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "stop", "stop"),
        Binding("d", "detach", "leave running"),
        Binding("a", "note", "Note"),
        Binding("s", "result", "Result"),
        Binding("left", "move_story(-1)", "Story", key_display="←→"),
        Binding("right", "move_story(1)", "Next story", show=False),
        Binding("tab", "step(1)", "Tab", show=False, priority=True),
        Binding("shift+tab", "step(-1)", "Previous tab", show=False, priority=True),
        Binding("escape", "back", "Back", show=False),
    ]

    def __init__(self, client: Client, loop: LoopSummary, *, started: bool = False) -> None:
        super().__init__(client)
        self._loop = loop
        self._started = started
        """Whether its runner was just started, and may have failed."""
        self._feed = client.attach(loop)
        self._progress = LoopProgress(loop.change, whole=loop.door is not Door.RUN)
        self._indexes = StoryIndexes()
        self._stories = StoryList()
        self._scenarios: tuple[str, ...] = ()
        self._selected: str | None = None
        self._stop_key = StopKey()
        self._asked_at: float | None = None
        self._over = False
        self._result_due = False
        self._painting = False
        self._replayed = 0.0
        self._opened_at = time.time()

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield LoopTitle(stories=self._loop.door == "run")
        with Container(id="body"):
            yield StoryStrip(id="stories")
            yield StoryTabs(self.client, self._loop, self._feed, self._indexes)
        yield Line(id="message")
        yield Meter()
        yield KeyLine([*self.BINDINGS, *KeyedScreen.BINDINGS], id="keys")
        yield KeyLine([*_KEYS_AT_THE_END, *KeyedScreen.BINDINGS], id="end-keys")

    def on_mount(self) -> None:
        """Start following the journal."""
        self.query_one("#message").display = self.query_one("#end-keys").display = False
        self.query_one("#agent-text").focus()
        self.run_worker(Bridge(self._feed, self._progress, self._indexes, self).run(), name="bridge")
        self.set_interval(_POLL_S, self._tick)
        self.call_after_refresh(freeze_live_objects)
        self._learn()
        self._paint()

    def on_unmount(self) -> None:
        """Close the journal."""
        self._feed.close()

    @property
    def view(self) -> StoryView | None:
        """The story on screen: the running one unless another was selected."""
        stories = self._progress.stories
        wanted = self._selected if self._selected is not None else self._progress.current
        return stories.get(wanted or "") or next(iter(stories.values()), None)

    @on(Bridge.Advanced)
    def _advanced(self, event: Bridge.Advanced) -> None:
        self._replayed = event.replayed
        if not self._painting:
            self._painting = True
            self.set_timer(_PAINT_S, self._paint)

    @on(Bridge.Warning)
    def _warned(self, event: Bridge.Warning) -> None:
        self.notify(event.text, severity="warning")

    @on(Bridge.Over)
    def _ended(self, event: Bridge.Over) -> None:
        self._over = True
        self._progress.close(datetime.now(UTC) if event.watched else None)
        self.query_one("#keys").display = False
        self.query_one("#end-keys").display = True
        self._finish()

    @work(group="learn")
    async def _finish(self) -> None:
        """Read the change a last time, then show the result or the selection."""
        await self._look()
        if not self.is_there:
            return
        began = self._progress.started_at
        complaint = self.client.complaint(self._loop)
        if self._asked_at is not None:
            self._leave_to_selection()
            self.app.notify(f"The loop has stopped. {self._kept()}")
        elif self._started and complaint and (began is None or began.timestamp() < self._opened_at):
            while self in self.app.screen_stack:
                self.app.pop_screen()
            self.app.notify(complaint, title="The loop did not start", severity="error", timeout=10)
        else:  # an open result updates itself
            self._result_due = not any(isinstance(screen, ResultScreen) for screen in self.app.screen_stack)
            self.on_screen_resume()

    def on_screen_resume(self) -> None:
        """Show the result when the loop has ended, but not on top of a note being written."""
        if self._result_due and self.app.screen is self:
            self._result_due = False
            self.action_result()

    def _kept(self) -> str:
        """Say what a stop keeps."""
        story = self._progress.stories.get(self._progress.current or "")
        if story is None or story.mark is Mark.DONE or not story.attempts:
            return "Completed work is kept."
        return f"Completed work is kept; what story {story.id} has so far is in the tree, and its checkpoint is kept."

    def _leave_to_selection(self) -> None:
        while len(self.app.screen_stack) > _SELECTION:
            self.app.pop_screen()

    def _tick(self) -> None:
        """Update the clock and the boxes, and warn of a slow stop, once a second."""
        if not self.is_there:
            return
        if self._asked_at is not None and not self._over and time.monotonic() - self._asked_at >= HINT_AFTER_S:
            self._say(f"The loop has not stopped yet; press q {_times(self._stop_key.left)} more to force-quit.")
        if self._over:
            self._paint()  # the working tree may still change
        else:
            self.query_one(Meter).show(self._progress)
            self._learn()

    @work(group="learn")
    @one_at_a_time
    async def _learn(self) -> None:
        await self._look()

    async def _look(self) -> None:
        """Read the stories of the change, and repaint."""
        try:
            self._stories = await self.client.stories(self._loop)
            if not self._scenarios:
                self._scenarios = await self.client.scenarios(self._loop)
        except (SpoolError, OSError):  # the agent may be rewriting the change
            pass
        if self._loop.door == "run":
            self._progress.know(self._stories)
        self._paint()

    def _paint(self) -> None:
        self._painting = False
        if not self.is_there:
            return
        view = self.view
        self.query_one(LoopTitle).show(self._progress, over=self._over, replayed=self._replayed)
        tiles = [Tile(one.id, one.title, one.mark, one.tries) for one in self._progress.stories.values()]
        self.query_one(StoryStrip).show(tiles, view.id if view else "")
        self.query_one(Meter).show(self._progress)
        if self._progress.waiting is not None and self._asked_at is None:
            self._say(words.waiting(self._progress.waiting))
        elif self._progress.working is not None and self._asked_at is None:
            self._say(f"{words.working(self._progress.working)}, {self._progress.working.share:.0%}")
        elif self._progress.checking is not None and self._asked_at is None:
            self._say(words.checking(self._progress.checking))
        elif self._asked_at is None:
            self._say("")
        if view is not None:
            self.query_one(StoryTabs).show(self._progress, view, self._stories, self._scenarios)

    def _say(self, message: str) -> None:
        line = self.query_one("#message", Line)
        line.display = bool(message)
        line.say(one_line(message, 300))

    @on(Tabbed.TabActivated)
    def _shown(self) -> None:
        self._paint()

    @on(StoryStrip.Picked)
    def _picked(self, event: StoryStrip.Picked) -> None:
        self._select(event.story)

    def _select(self, story: str) -> None:
        self._selected = None if story == self._progress.current and not self._over else story
        self._paint()

    def action_move_story(self, by: int) -> None:
        """Show the next or previous story."""
        ids = list(self._progress.stories)
        if ids and self.view is not None:
            self._select(ids[max(0, min(len(ids) - 1, ids.index(self.view.id) + by))])

    def action_step(self, by: int) -> None:
        """Switch to another tab."""
        self.query_one(StoryTabs).step(by)

    def action_result(self) -> None:
        """Show the result so far."""
        self.app.push_screen(ResultScreen(self._progress, lambda: self._over), self._select_from_result)

    def _select_from_result(self, story: str | None) -> None:
        if story is not None:
            self._select(story)

    @work(exclusive=True, group="note")
    async def action_note(self) -> None:
        """Ask for a note and add it to all later prompts."""
        text = await self.app.push_screen_wait(NoteScreen())
        if not text or not text.strip():
            return
        try:
            await self.client.add_context(self._loop, text)
        except (SpoolError, OSError) as error:
            self.notify(str(error), severity="error")
            return
        self.notify(f"Note added to all later prompts. To clear: spool {self._loop.door} --clear-context")

    def action_detach(self) -> None:
        """Leave the loop running and return to the selection."""
        over = self._over
        self._leave_to_selection()
        if not over:
            self.app.notify(f"{self._loop.change} keeps running. Press Enter to attach again.")

    def action_back(self) -> None:
        """Return to the running story, or leave a loop that has ended."""
        if self._over:
            self._leave_to_selection()
        elif self._selected is not None:
            self._selected = None
            self._paint()
        else:
            self.notify("Press d to leave the loop running, q to stop it.")

    def action_leave(self) -> None:
        """Handle Ctrl-C like q."""
        self.action_stop()

    def action_stop(self) -> None:
        """Stop the loop; force-quit if pressed repeatedly."""
        if self._over:
            self._leave_to_selection()
            return
        pending = self._asked_at is not None or self._progress.stop_pending
        match self._stop_key.press(time.monotonic(), pending=pending):
            case Answer.STOP:
                self._asked_at = time.monotonic()
                self.client.stop(self._loop)
                self._say(f"Stopping; this screen closes when the agent has exited. {self._kept()}")
            case Answer.ONCE_MORE:
                self._asked_at = self._asked_at or time.monotonic()
                self._say("Still stopping. Press q once more to force-quit.")
            case Answer.FORCE:
                self.client.force(self._loop)
                self.app.exit(
                    return_code=130,
                    message=Text(
                        f"Warning: force-quit. The loop of {one_line(self._loop.change)} is being killed "
                        "in the background."
                    ),
                )


def _times(presses: int) -> str:
    return "twice" if presses > 1 else "once"
