"""Tabs that the screen switches with Tab and Shift-Tab."""

from textual.widgets import TabbedContent, TabPane, Tabs


class Tabbed(TabbedContent):
    """Tabbed content whose row of tabs takes no focus: Left and Right belong to the stories."""

    def on_mount(self) -> None:
        """Disable focus on the row of tabs."""
        for tabs in self.query(Tabs):
            tabs.can_focus = False

    def on_tab_pane_focused(self, event: TabPane.Focused) -> None:
        """Do not switch tabs on focus: the focus follows the tab, and with fast key presses the two would alternate
        forever."""
        event.prevent_default()
        event.stop()

    def step(self, by: int) -> None:
        """Switch to another tab, wrapping around at the ends."""
        if names := self.names:
            self.active = names[(names.index(self.active) + by) % len(names)]

    @property
    def names(self) -> list[str]:
        """The tabs, in order."""
        return [pane.id for pane in self.query("TabPane") if pane.id]
