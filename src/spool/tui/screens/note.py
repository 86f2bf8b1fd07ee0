"""Asks for a note for all later prompts."""

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from spool.tui.screens.help import SUSPEND


class _Note(TextArea):
    """A text area in which Enter submits; pasted text keeps its lines."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Add", priority=True),
        Binding("ctrl+j,shift+enter", "newline", "New line", priority=True),
    ]

    @dataclass
    class Submitted(Message):
        """The note was submitted."""

        text: str

    def action_submit(self) -> None:
        """Submit the note."""
        self.post_message(self.Submitted(self.text))

    def action_newline(self) -> None:
        """Insert a newline."""
        self.insert("\n")


class NoteScreen(ModalScreen[str | None]):
    """A small window for the note."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel"), SUSPEND]

    def compose(self) -> ComposeResult:
        """Create the window."""
        with Vertical(id="note"):
            yield Static("Note for all later prompts", classes="heading", markup=False)
            yield _Note(soft_wrap=True, show_line_numbers=False)
            yield Static("Enter: add · Ctrl-J: new line · Esc: cancel", classes="hint", markup=False)

    @on(_Note.Submitted)
    def _done(self, event: _Note.Submitted) -> None:
        self.dismiss(event.text)
