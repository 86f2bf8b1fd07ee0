"""The preview screen: shows a change before its loop starts, including the prompt."""

from contextlib import suppress
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Checkbox, Input, TabPane

from spool.app.loops.client import Client
from spool.domain.loop.settings import Settings
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError
from spool.tui.blocks import Block, Tone, line, markdown, plain
from spool.tui.pages import BlockPages
from spool.tui.screens.base import KeyedScreen, SpoolScreen
from spool.tui.screens.loop_screen import LoopScreen
from spool.tui.screens.questions import KEEP, ask_about_edits
from spool.tui.turns import one_at_a_time
from spool.tui.widgets.key_line import KeyLine
from spool.tui.widgets.line import PlainLine
from spool.tui.widgets.paged import PagedView
from spool.tui.widgets.picker import Picker
from spool.tui.widgets.settings_form import SettingsForm
from spool.tui.widgets.tabbed import Tabbed
from spool.views.hints import next_step

_REFRESH_S = 1.0
_WATCH = Binding("R", "start", "Watch", key_display="R")
_TEXTS = {"proposal": "Proposal", "tasks": "Tasks", "scenarios": "Scenarios", "prompt": "Prompt"}


class PreviewScreen(SpoolScreen):
    """Shows the texts of a change, the next prompt, and the settings."""

    KEYS = (
        ("R", "start the loop, or watch it if it is running"),
        ("Tab, Shift-Tab", "switch tabs"),
        ("Up, Down", "scroll; in the settings, move between fields"),
        ("Esc", "back"),
        ("q", "quit"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("R", "start", "Run", key_display="R"),
        Binding("tab", "step(1)", "Next tab", key_display="Tab", priority=True),
        Binding("shift+tab", "step(-1)", "Previous tab", show=False, priority=True),
        Binding("escape", "back", "Back"),
        Binding("q", "leave", "Quit"),
        Binding("down", "enter", "Into the fields", show=False),
    ]

    def __init__(self, client: Client, change: str) -> None:
        super().__init__(client)
        self._change = change
        self._settings: Settings | None = client.settings
        self._notice = ""

    def compose(self) -> ComposeResult:
        """Create the tabs."""
        yield PlainLine(f"Spool · {one_line(self._change)}", classes="title", id="name")
        yield PlainLine(id="notice")
        with Tabbed(initial="proposal"):
            for name, label in _TEXTS.items():
                with TabPane(label, id=name):
                    yield PagedView(id=f"{name}-text")
            with TabPane("Settings", id="settings"):
                yield SettingsForm(self.client.settings, self.client.harnesses)
        yield KeyLine([*self.BINDINGS, *KeyedScreen.BINDINGS])

    def on_mount(self) -> None:
        """Read the change."""
        self.query_one("#notice").display = False
        self.query_one("#proposal-text").focus()
        self._looking = self.set_interval(_REFRESH_S, self._look)
        self._read()

    def on_screen_resume(self) -> None:
        """Look again whether the loop is running."""
        self._looking.resume()

    def on_screen_suspend(self) -> None:
        """Stop looking: each message to a screen redraws all of the one above it, which took 20 ms."""
        self._looking.pause()

    @work(group="look")
    @one_at_a_time
    async def _look(self) -> None:
        with suppress(SpoolError, OSError):
            self._show_running(await self.client.running(self._change))

    def _show_running(self, loop: LoopSummary | None) -> None:
        """Show that the loop is running, and offer to watch it; else an earlier run's rest."""
        if not self.is_there:
            return
        notice = self.query_one("#notice", PlainLine)
        said = f"running; R watches it (iteration {loop.iteration}, in {loop.worktree})" if loop else self._notice
        notice.display = bool(said)
        notice.say(one_line(said, 300), layout=True)
        first, *others = self.BINDINGS
        self.query_one(KeyLine).offer([_WATCH if loop else first, *others, *KeyedScreen.BINDINGS])

    @work(exclusive=True, group="read")
    async def _read(self) -> None:
        try:
            found = await self.client.preview(self._change)
        except (SpoolError, OSError) as error:
            self.complain(error)
            return
        if not self.is_there:
            return
        self.query_one("#name", PlainLine).say(one_line(f"Spool · {found.change} · {found.title}"))
        self._notice = found.notice
        self._show_running(found.running)
        scenarios = [block for text in found.scenarios for block in markdown(text)]
        self._text("proposal", markdown(found.proposal) or [line("this change has no proposal.md", Tone.DIM)])
        self._text("tasks", markdown(found.tasks) or [line("this change has no tasks.md", Tone.DIM)])
        self._text("scenarios", scenarios or [line("this change has no scenarios", Tone.DIM)])
        await self._show_prompt()

    async def _show_prompt(self) -> None:
        try:
            prompt = await self.client.prompt(self._change, self._settings or self.client.settings)
        except (SpoolError, OSError) as error:
            self._text("prompt", [line(f"no prompt: {error}", Tone.DIM)])
            return
        self._text("prompt", plain(prompt) or [line("all stories are complete", Tone.DIM)])

    def _text(self, name: str, blocks: list[Block]) -> None:
        if self.is_there:
            self.query_one(f"#{name}-text", PagedView).show(BlockPages(blocks))

    def action_step(self, by: int) -> None:
        """Switch to another tab."""
        self.query_one(Tabbed).step(by)

    @on(Tabbed.TabActivated)
    def _shown(self, event: Tabbed.TabActivated) -> None:
        if event.pane.id != event.tabbed_content.active:
            return
        if event.pane.id == "settings":  # focus no field, so that the screen's keys keep working
            self.set_focus(None)
            return
        if event.pane.id == "prompt":
            self._again()
        event.pane.query_one(PagedView).focus()

    def action_enter(self) -> None:
        """Focus the first field of the settings."""
        if self.query_one(Tabbed).active == "settings":
            self.query_one(SettingsForm).enter()

    @work(exclusive=True, group="prompt")
    async def _again(self) -> None:
        await self._show_prompt()

    @on(SettingsForm.Edited)
    def _edited(self, event: SettingsForm.Edited) -> None:
        form = self.query_one(SettingsForm)
        try:
            self._settings = self.client.check(event.values)
            form.complain("")
        except SpoolError as error:
            self._settings = None
            form.complain(". ".join(part for part in (str(error), next_step(error)) if part))

    def action_back(self) -> None:
        """Leave a field of the settings, or return to the list."""
        if isinstance(self.focused, Input | Checkbox | Picker):
            self.set_focus(None)
        else:
            self.app.pop_screen()

    @work(group="start")
    @one_at_a_time
    async def action_start(self) -> None:
        """Start the loop, unless it is running, and watch it."""
        answer = ""
        try:
            if (running := await self.client.running(self._change)) is not None:
                self.app.push_screen(LoopScreen(self.client, running))
                return
            if self._settings is None:
                self.notify("The settings are invalid.", severity="error")
                return
            if (edited := await self.client.edits(self._change, self._settings)) is not None:
                chosen = await self.app.push_screen_wait(ask_about_edits(edited))
                if chosen is None:
                    return
                answer = "keep" if chosen == KEEP else "revert"
            loop = await self.client.start(self._change, self._settings, on_resume=answer)
        except (SpoolError, OSError) as error:
            self.complain(error)
            return
        if self.app.screen is self:
            self.app.push_screen(LoopScreen(self.client, loop, started=True))
