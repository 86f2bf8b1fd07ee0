"""The loop screen: shows a loop's journal, and can stop the loop or add a note."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message

from spool.app.loops.client import Client
from spool.domain.account.account import LoopAccount
from spool.domain.account.progress import StoryHistory
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import clean, one_line
from spool.errors import SpoolError
from spool.tui.bridge import Bridge
from spool.tui.screens.base import KeyedScreen, SpoolScreen, freeze_live_objects
from spool.tui.screens.questions import NoteScreen, ask_to_stop
from spool.tui.screens.result import ResultScreen
from spool.tui.stop_keys import HINT_AFTER_S, PressEffect, StopKey
from spool.tui.turns import one_at_a_time
from spool.tui.watched_loop import WatchedLoop
from spool.tui.widgets.key_line import KeyLine
from spool.tui.widgets.line import PlainLine
from spool.tui.widgets.loop_title import LoopTitle
from spool.tui.widgets.meter import Meter
from spool.tui.widgets.story_column import Stories
from spool.tui.widgets.story_tabs import StoryTabs
from spool.tui.widgets.tabbed import Tabbed
from spool.tui.widgets.tiles import LoopRow, TileRow
from spool.views import words
from spool.views.live.estimates import waiting_for

_PAINT_S = 0.08
_FLOODED_S = 0.25
"""Seconds between two paintings while a journal is read, or an agent writes hundreds of events a second."""
_POLL_S = 1.0
_SELECTION = 2
"""The screen count when the selection is on top: itself, and Textual's own below it."""
_BROAD = 140
"""The columns from which on the changes stand beside the agent."""
_KEYS_ELSEWHERE = (Binding("q", "stop", "leave running"), Binding("x", "ask_to_stop", "stop"))
"""The keys of a loop that was started elsewhere, in place of those that stop and leave one of this screen's."""
_LOOPS = Binding("right_square_bracket", "move_loop(1)", "Loop", key_display="[ ]")
_KEYS_AT_THE_END = (
    Binding("q", "stop", "Back"),
    Binding("s", "result", "Result"),
    Binding("left", "move_story(1)", "Story", key_display="←→"),
)


class LoopScreen(SpoolScreen):
    """Shows the stories with their tasks and gates, the agent's output, its changes, and the figures."""

    KEYS = (
        ("Left, Right", "show the previous or next story"),
        ("[, ]", "show the previous or next loop of this project"),
        ("Esc", "back to the running story"),
        ("Tab, Shift-Tab", "switch tabs"),
        ("Up, PgUp, Home", "scroll, and stop following the end"),
        ("End", "scroll to the end and follow it"),
        ("n, p", "mark the next or previous calls or file"),
        ("Enter, click", "fold or unfold them"),
        ("f", "fold or unfold all"),
        ("a", "add a note to all later prompts"),
        ("s", "show the result so far"),
        ("d", "leave the loop running"),
        ("q", "stop a loop that this screen started; leave any other running"),
        ("q q q", "within three seconds: force-quit a loop that this screen started"),
        ("x", "ask, then stop the loop, wherever it was started"),
    )
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-column"), (120, "-wide"), (_BROAD, "-broad")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "stop", "stop"),
        Binding("d", "detach", "leave running"),
        Binding("x", "ask_to_stop", "Stop", show=False),
        Binding("a", "note", "Note"),
        Binding("s", "result", "Result"),
        Binding("left", "move_story(-1)", "Story", key_display="←→"),
        Binding("right", "move_story(1)", "Next story", show=False),
        Binding("left_square_bracket", "move_loop(-1)", "Previous loop", show=False),
        Binding("right_square_bracket", "move_loop(1)", "Next loop", show=False),
        Binding("tab", "step(1)", "Tab", show=False, priority=True),
        Binding("shift+tab", "step(-1)", "Previous tab", show=False, priority=True),
        Binding("escape", "back", "Back", show=False),
    ]

    @dataclass
    class Stopped(Message):
        """The loop has ended because it was asked to here."""

        report: LoopAccount
        kept: str

    def __init__(self, client: Client, loop: LoopSummary, *, started: bool = False) -> None:
        super().__init__(client)
        self._watch = WatchedLoop(client, loop)
        self._own = client.has_started(loop)
        self._started = started
        """Whether its runner was just started, and may have failed."""
        self._selected: str | None = None
        self._stop_key = StopKey()
        self._asked_at: float | None = None
        self._result_due = False
        self._painting = False
        self._opened_at = time.time()

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield LoopTitle(self._watch.loop)
        yield LoopRow()
        with Container(id="body"):
            yield Stories()
            yield StoryTabs(self.client, self._watch)
        yield PlainLine(id="message")
        yield Meter()
        yield KeyLine(())

    def on_mount(self) -> None:
        """Start following the journal."""
        for name in ("#message", "LoopRow", "#beside"):
            self.query_one(name).display = False
        self.query_one("#agent-text").focus()
        self.run_worker(self._follow(), name="bridge")
        self.set_interval(_POLL_S, self._tick)
        self.call_after_refresh(freeze_live_objects)
        self._learn()
        self._paint()

    async def _follow(self) -> None:
        watch = self._watch
        await watch.peek()
        self._paint()
        await Bridge(watch.feed, watch.progress, watch.indexes, self).run()

    def on_unmount(self) -> None:
        """Close the journal."""
        self._watch.feed.close()

    def on_resize(self) -> None:
        """Lay out what is shown for the new size."""
        self.call_after_refresh(self._paint)

    @property
    def view(self) -> StoryHistory | None:
        """The story on screen: the running one unless another was selected."""
        return self._watch.view(self._selected)

    @on(Bridge.Advanced)
    def _advanced(self, event: Bridge.Advanced) -> None:
        self._watch.replayed = event.replayed
        if not self._painting:
            self._painting = True
            self.set_timer(_FLOODED_S if event.many or event.replayed < 1 else _PAINT_S, self._paint)

    @on(Bridge.Warning)
    def _warned(self, event: Bridge.Warning) -> None:
        self.notify(event.text, severity="warning")

    @on(Bridge.Over)
    def _ended(self, event: Bridge.Over) -> None:
        self._watch.end(just_now=event.watched)
        self._finish()

    @work(group="learn")
    async def _finish(self) -> None:
        """Read the change a last time, then show the result or the selection."""
        await self._watch.look()
        report = await self._watch.reported()
        if not self.is_there:
            return
        self._paint()
        began = self._watch.progress.started_at
        complaint = self.client.complaint(self._watch.loop)
        if self._asked_at is not None:
            self._leave_to_selection()
            self.app.post_message(self.Stopped(report, self._watch.kept))
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

    def _leave_to_selection(self) -> None:
        while len(self.app.screen_stack) > _SELECTION:
            self.app.pop_screen()

    def _tick(self) -> None:
        """Update the clocks and the boxes, and warn of a slow stop, once a second."""
        if not self.is_there:
            return
        if self._asked_at is not None and not self._watch.over and time.monotonic() - self._asked_at >= HINT_AFTER_S:
            more = f"q {_times(self._stop_key.left)} more" if self._own else "x"
            self._say(f"The loop has not stopped yet; press {more} to force-quit.")
        self._paint()
        self._learn()

    @work(group="learn")
    @one_at_a_time
    async def _learn(self) -> None:
        await self._watch.look()
        self._paint()

    def _paint(self) -> None:
        self._painting = False
        if not self.is_there:
            return
        watch, view = self._watch, self.view
        self.query_one(LoopTitle).show(watch.progress, watch.around, over=watch.over, replayed=watch.replayed)
        self.query_one(LoopRow).show_loops(watch.around.loops, watch.loop.run_id)
        self.query_one(Stories).show(watch, view)
        self.query_one(Meter).show(watch.progress)
        if self._asked_at is None:
            self._say(waiting_for(watch.progress, datetime.now(UTC)))
        self.query_one(KeyLine).offer([*self._keys(), *self._loop_keys(), *KeyedScreen.BINDINGS])
        tabs = self.query_one(StoryTabs)
        tabs.set_beside(wanted=self.size.width >= _BROAD)
        if view is not None:
            tabs.show(view)

    def _keys(self) -> Sequence[BindingType]:
        if self._watch.over:
            return _KEYS_AT_THE_END
        return self.BINDINGS[:6] if self._own else (*_KEYS_ELSEWHERE, *self.BINDINGS[3:6])

    def _loop_keys(self) -> list[Binding]:
        return [_LOOPS] if len(self._watch.around.loops) > 1 else []

    def _say(self, message: str) -> None:
        line = self.query_one("#message", PlainLine)
        line.display = bool(message)
        line.say(one_line(message, 300))

    @on(Tabbed.TabActivated)
    def _shown(self) -> None:
        self._paint()

    @on(Stories.Picked)
    def _picked(self, event: Stories.Picked) -> None:
        self._select(event.story)

    @on(TileRow.Picked)
    def _loop_picked(self, event: TileRow.Picked) -> None:
        self._switch_to(event.tile)

    def _select(self, story: str) -> None:
        self._selected = None if story == self._watch.current and not self._watch.over else story
        self._paint()

    def action_move_story(self, by: int) -> None:
        """Show the next or previous story."""
        ids = list(self._watch.progress.stories)
        if ids and self.view is not None:
            self._select(ids[max(0, min(len(ids) - 1, ids.index(self.view.id) + by))])

    def action_move_loop(self, by: int) -> None:
        """Show the next or previous loop of this project."""
        runs = [one.run_id for one in self._watch.around.loops]
        here = self._watch.loop.run_id
        if here in runs:
            self._switch_to(runs[(runs.index(here) + by) % len(runs)])

    def _switch_to(self, run_id: str) -> None:
        found = next((one for one in self._watch.around.loops if one.run_id == run_id), None)
        if found is not None and run_id != self._watch.loop.run_id:
            self.app.switch_screen(LoopScreen(self.client, found))

    def action_step(self, by: int) -> None:
        """Switch to another tab."""
        self.query_one(StoryTabs).step(by)

    def action_result(self) -> None:
        """Show the result so far."""
        self.app.push_screen(ResultScreen(self._watch.loop.change, self._watch.reported), self._select_from_result)

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
            await self.client.add_context(self._watch.loop, text)
        except (SpoolError, OSError) as error:
            self.notify(str(error), severity="error")
            return
        self.notify(f"Note added to all later prompts. To clear: spool {self._watch.loop.door} --clear-context")

    def action_detach(self) -> None:
        """Leave the loop running and return to the selection."""
        over = self._watch.over
        self._leave_to_selection()
        if not over:
            self.app.notify(f"{self._watch.loop.change} keeps running. Press Enter to attach again.")

    def action_back(self) -> None:
        """Return to the running story, or leave a loop that has ended or was started elsewhere."""
        if self._selected is not None and not self._watch.over:
            self._selected = None
            self._paint()
        elif self._watch.over or not self._own:
            self.action_detach()
        else:
            self.notify("Press d to leave the loop running, q to stop it.")

    def action_leave(self) -> None:
        """Handle Ctrl-C: like q for a loop of this screen, else close the screen and leave the loop running."""
        if self._own or self._watch.over:
            self.action_stop()
            return
        loop = self._watch.loop
        said = f"Detached; {words.named(loop)} is still running. Stop it with: spool stop {loop.id}"
        self.app.exit(message=Text(clean(said)))

    def action_stop(self) -> None:
        """Stop a loop of this screen, and force-quit if pressed repeatedly; leave any other running."""
        if self._watch.over or not self._own:
            self.action_detach()
            return
        match self._stop_key.press(time.monotonic(), pending=self._stop_pending):
            case PressEffect.STOP:
                self._stop()
            case PressEffect.ONCE_MORE:
                self._asked_at = self._asked_at or time.monotonic()
                self._say("Still stopping. Press q once more to force-quit.")
            case PressEffect.FORCE:
                self._force()

    @work(exclusive=True, group="ask")
    async def action_ask_to_stop(self) -> None:
        """Ask whether to stop the loop or, while it is stopping, to kill it."""
        pending = self._stop_pending
        if self._watch.over or not await self.app.push_screen_wait(ask_to_stop(self._watch.loop, pending=pending)):
            return
        if pending and not self._watch.over:
            self._force()
        elif not self._watch.over:
            self._stop()

    @property
    def _stop_pending(self) -> bool:
        return self._asked_at is not None or self._watch.progress.stop_pending

    def _stop(self) -> None:
        self._asked_at = time.monotonic()
        self.client.stop(self._watch.loop)
        self._say(f"Stopping; this screen closes when the agent has exited. {self._watch.kept}")

    def _force(self) -> None:
        self.client.force(self._watch.loop)
        said = f"The loop of {one_line(self._watch.loop.change)} is being killed in the background."
        self.app.exit(return_code=130, message=Text(f"Warning: force-quit. {said}"))


def _times(presses: int) -> str:
    return "twice" if presses > 1 else "once"
