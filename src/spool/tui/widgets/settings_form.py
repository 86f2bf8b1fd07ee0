"""A form for the settings of the next loop."""

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Checkbox, Input, Label

from spool.domain.loop.settings import Settings
from spool.domain.text.plain_text import one_line
from spool.tui.widgets.line import PlainLine
from spool.tui.widgets.picker import Picker

_TEXTS = {
    "model": "Model",
    "max_retries": "Max retries",
    "iteration_timeout": "Iteration timeout",
    "idle_timeout": "Idle timeout",
    "command_timeout": "Command timeout",
}
_CHOICES = {
    "allow_all": "Allow all: the agent uses its tools without asking",
    "keep": "After a stop, continue from the tree as it is",
    "commit_stories": "Commit the work of each finished story",
}


_HINT = "Press Down or click to edit a field, Esc to leave it. Left and Right choose an installed agent."


class _Choice(Checkbox):
    """A box that is empty when not ticked; Textual only dims the tick, which is invisible without colour."""

    @property
    def _button(self) -> Content:
        return Content("[x]" if self.value else "[ ]")


class SettingsForm(VerticalScroll):
    """Shows one line per setting. Up and Down move between the lines."""

    DEFAULT_CSS = """
    SettingsForm Horizontal { height: 1; margin: 0 1; }
    SettingsForm Label { width: 20; }
    SettingsForm Input { width: 1fr; max-width: 50; padding: 0 1; }
    SettingsForm Checkbox { margin: 0 1; width: 1fr; }
    SettingsForm #problem { margin: 0 1; color: $text-error; height: auto; }
    SettingsForm #settings-hint { margin: 1 1 0 1; }
    SettingsForm Input:focus:nocolor, SettingsForm Checkbox:focus:nocolor { text-style: underline; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "app.focus_previous", "Up", show=False),
        Binding("down", "app.focus_next", "Down", show=False),
    ]

    @dataclass
    class Edited(Message):
        """A setting was changed."""

        values: dict[str, str | bool]

    def __init__(self, settings: Settings, harnesses: list[str], *, id: str | None = None) -> None:
        super().__init__(id=id, can_focus=False)
        self._settings = settings
        self._harnesses = harnesses

    def compose(self) -> ComposeResult:
        """Create one line per setting."""
        with Horizontal():
            yield Label("Agent")
            yield Picker(self._harnesses, self._settings.harness, id="harness")
        for name, label in _TEXTS.items():
            with Horizontal():
                yield Label(label)
                yield Input(_shown(getattr(self._settings, name)), id=name, compact=True)
        for name, label in _CHOICES.items():
            chosen = self._settings.on_resume == "keep" if name == "keep" else bool(getattr(self._settings, name))
            yield _Choice(label, chosen, id=name, compact=True)
        yield PlainLine(_HINT, id="settings-hint", classes="hint")
        yield PlainLine(id="problem")

    def complain(self, problem: str) -> None:
        """Show an error in the typed values."""
        self.query_one("#problem", PlainLine).say(problem, layout=True)

    def enter(self) -> None:
        """Focus the first field."""
        self.query_one("#harness", Picker).focus()

    @on(Input.Changed)
    @on(Checkbox.Changed)
    @on(Picker.Changed)
    def _edited(self, event: Input.Changed | Checkbox.Changed | Picker.Changed) -> None:
        event.stop()
        values: dict[str, str | bool] = {name: self.query_one(f"#{name}", Input).value.strip() for name in _TEXTS}
        values["harness"] = self.query_one("#harness", Picker).value
        for name in _CHOICES:
            values[name] = self.query_one(f"#{name}", Checkbox).value
        values["on_resume"] = "keep" if values.pop("keep") else "revert"
        self.post_message(self.Edited(values))


def _shown(value: object) -> str:
    if isinstance(value, float):
        for size, unit in ((3_600, "h"), (60, "m")):
            if value and value % size == 0:
                return f"{value / size:g}{unit}"
        return f"{value:.12g}s"
    return "" if value is None else one_line(str(value))
