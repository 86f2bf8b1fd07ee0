"""Asks what becomes of a working tree that was edited since an earlier run."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from spool.app.loops.client import Edited
from spool.tui.screens.help import SUSPEND


class ResumeScreen(ModalScreen[str | None]):
    """A small window with the two answers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "dismiss('keep')", "Keep"),
        Binding("r", "dismiss('revert')", "Revert"),
        Binding("escape", "dismiss(None)", "Cancel"),
        SUSPEND,
    ]

    def __init__(self, edited: Edited) -> None:
        super().__init__()
        self._edited = edited

    def compose(self) -> ComposeResult:
        """Create the window."""
        with Vertical(id="resume"):
            yield Static("The tree is not as the last run left it", classes="heading", markup=False)
            yield Static(f"{self._edited.label}; changed: {self._edited.shown}", markup=False)
            yield Static("k: continue from the tree as it is", markup=False)
            yield Static("r: go back to the story's checkpoint; all later changes, yours too, are saved", markup=False)
            yield Static("Esc: do not start", classes="hint", markup=False)
