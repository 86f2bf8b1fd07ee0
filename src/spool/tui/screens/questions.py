"""Small windows that ask: for an answer by one key, or for a note."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import TextArea

from spool.app.loops.client import Edited
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import one_line
from spool.tui.screens.help import SUSPEND
from spool.tui.widgets.line import PlainLine


class QuestionScreen(ModalScreen[str | None]):
    """Asks a question; the result is the key of the answer, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n,q,ctrl+c", "dismiss(None)", "Cancel", priority=True),
        SUSPEND,
    ]

    def __init__(self, lines: Sequence[str], answers: Mapping[str, str], otherwise: str) -> None:
        super().__init__()
        self._lines = lines
        self._answers = answers
        self._otherwise = otherwise

    def compose(self) -> ComposeResult:
        """Create the window."""
        heading, *facts = self._lines
        with Vertical(id="question"):
            yield PlainLine(heading, classes="heading")
            for text in (*facts, *(f"{key}: {answer}" for key, answer in self._answers.items())):
                yield PlainLine(text)
            yield PlainLine(f"Esc: {self._otherwise}", classes="hint")

    def on_key(self, event: events.Key) -> None:
        """Take the key of an answer."""
        if event.key in self._answers:
            event.stop()
            self.dismiss(event.key)


def ask_to_stop(loop: LoopSummary, *, pending: bool) -> QuestionScreen:
    """Return the question before a loop that was started elsewhere is stopped, or killed if that is pending."""
    name = one_line(loop.change, 40)
    heading = f"{name} is stopping. Kill it?" if pending else f"Stop {name}?"
    started = f"It was started elsewhere: {loop.door}, pid {loop.runner.pid}."
    answer = "kill it and its agent" if pending else "stop it; its work is kept"
    return QuestionScreen((heading, started), {"y": answer}, "leave it running")


KEEP, REVERT = "k", "r"


def ask_about_edits(edited: Edited) -> QuestionScreen:
    """Return the question what becomes of a working tree that was edited since an earlier run."""
    lines = ("The tree is not as the last run left it", f"{edited.label}; changed: {edited.shown}")
    answers = {
        KEEP: "continue from the tree as it is",
        REVERT: "go back to the story's checkpoint; all later changes, yours too, are saved",
    }
    return QuestionScreen(lines, answers, "do not start")


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
    """Asks for a note for all later prompts."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel"), SUSPEND]

    def compose(self) -> ComposeResult:
        """Create the window."""
        with Vertical(id="note"):
            yield PlainLine("Note for all later prompts", classes="heading")
            yield _Note(soft_wrap=True, show_line_numbers=False)
            yield PlainLine("Enter: add · Ctrl-J: new line · Esc: cancel", classes="hint")

    @on(_Note.Submitted)
    def _done(self, event: _Note.Submitted) -> None:
        self.dismiss(event.text)
