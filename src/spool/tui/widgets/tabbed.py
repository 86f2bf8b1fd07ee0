"""Tabs that the screen walks with Tab and Shift-Tab."""

from textual.widgets import TabbedContent, TabPane, Tabs


class Tabbed(TabbedContent):
    """Tabbed content whose row of tabs takes no focus: Left and Right belong to the stories."""

    def on_mount(self) -> None:
        """Leave the keys to the screen."""
        for tabs in self.query(Tabs):
            tabs.can_focus = False

    def on_tab_pane_focused(self, event: TabPane.Focused) -> None:
        """Let the focus follow the tab, but never the tab the focus: with keys in quick succession the two would chase
        each other for ever."""
        event.prevent_default()
        event.stop()

    def step(self, by: int) -> None:
        """Go to another tab, around the end if need be."""
        panes = [pane.id for pane in self.query("TabPane") if pane.id]
        if panes:
            self.active = panes[(panes.index(self.active) + by) % len(panes)]
