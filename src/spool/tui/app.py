"""The Textual application: holds the client, the themes and the screens."""

from typing import Any

from textual import events, on
from textual.app import App

from spool.app.loops.client import Client
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import clean
from spool.tui import reports
from spool.tui.screens.loop_screen import LoopScreen
from spool.tui.screens.preview import PreviewScreen
from spool.tui.screens.selection import SelectionScreen
from spool.tui.theme import COLOURLESS, DARK, LIGHT, sixteen, themes


class SpoolApp(App[None]):
    """Shows changes and watches their loops."""

    TITLE = "Spool"
    CSS_PATH = "spool.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, client: Client, *, change: str | None = None, loop: LoopSummary | None = None, colour: bool = True
    ) -> None:
        # Without colour, use the terminal's own two; Textual would use shades of grey.
        super().__init__(ansi_color=None if colour else True)
        self.ansi_theme_dark, self.ansi_theme_light = sixteen(dark=True), sixteen(dark=False)
        for theme in themes():
            self.register_theme(theme)
        self._client = client
        self._change = change
        self._watched = loop
        self._selection = SelectionScreen(client, change)
        self.theme = DARK if colour else COLOURLESS

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the colours that a theme of Textual's does not have."""
        return {"line": "ansi_default"}

    def on_mount(self) -> None:
        """Open the selection, and the requested change or loop, if any."""
        self.push_screen(self._selection)
        if self._change is not None:
            self.push_screen(PreviewScreen(self._client, self._change))
        if self._watched is not None:
            self.push_screen(LoopScreen(self._client, self._watched))

    @on(LoopScreen.Stopped)
    def _stopped(self, event: LoopScreen.Stopped) -> None:
        self._selection.show_card(reports.card(event.report, event.kept))

    async def on_event(self, event: events.Event) -> None:
        """Drop the keys that are still on their way when the screens have closed."""
        if self.screen_stack or not isinstance(event, events.InputEvent):
            await super().on_event(event)

    def notify(self, message: str, **how: Any) -> None:
        """Show a notice, cleaned of control sequences and markup."""
        super().notify(clean(message), **{**how, "markup": False})

    def on_notify(self) -> None:
        """Remove the notice before: two at once may contradict each other."""
        self.clear_notifications()

    def push_screen(self, *args: Any, **how: Any) -> Any:
        """Open a screen; the notices of the one below do not follow."""
        self.clear_notifications()
        return super().push_screen(*args, **how)

    def pop_screen(self) -> Any:
        """Close a screen, and its notices."""
        self.clear_notifications()
        return super().pop_screen()

    def action_theme(self) -> None:
        """Switch between light and dark."""
        if not self.no_color:
            self.theme = LIGHT if self.current_theme.dark else DARK
