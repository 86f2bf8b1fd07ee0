"""The terminal view: coloured output above a footer with the current activity."""

import time

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from spool.domain import events
from spool.domain.stream import (
    Denied,
    Done,
    Failure,
    Message,
    Retry,
    StreamEvent,
    ToolResult,
    ToolUse,
    Usage,
    UsageSoFar,
)
from spool.domain.text import clean
from spool.views import words
from spool.views.narration import narrate

_OPEN_LINE_LIMIT = 4_000


class LiveView:
    """Streams the agent's work above a live footer."""

    prints = True

    def __init__(self, *, verbose: bool, title: str = "") -> None:
        self._verbose = verbose
        self._title = title
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._spinner = Spinner("dots", Text("starting"))
        self._live = Live(self._spinner, console=self._console, refresh_per_second=8, transient=True)
        self._open_line = ""
        self._doing = "starting"
        self._since = time.monotonic()
        self._usage = self._running = Usage()

    def see(self, event: events.Event) -> None:
        """Print an event above the footer, which appears with the first one."""
        if not self._live.is_started:
            self._live.start()
        match event:
            case events.RunStarted():
                self._say(f"── {event.change} · {event.harness}{f' · {event.model}' if event.model else ''}", "bold")
            case events.IterationStarted():
                self._now(f"iteration {event.iteration}")
                self._entitle(f"iteration {event.iteration}")
                self._flush()
                self._console.print()
            case events.AgentEvent(event=said) | events.StoryEvent(event=said):
                self._agent(said)
            case events.IterationEnded(record=record):
                self._usage, self._running = self._usage + record.usage, Usage()
            case events.GateStarted():
                self._now(words.checking(event))
            case events.Waiting():
                self._now(words.waiting(event))
            case events.StopRequested():
                self._now("stopping; press Ctrl-C again to force" if not event.forced else "force-stopping")
            case events.RunEnded():
                self._entitle(str(event.status))
            case _:
                pass
        for _, text, style in narrate(event, verbose=self._verbose):
            self._say(f"── {text}" if style.startswith("bold") else text, style)
        self.tick()

    def tick(self) -> None:
        """Update the footer."""
        elapsed = words.duration(time.monotonic() - self._since)
        footer = " · ".join([clean(self._doing), elapsed, *words.spent(self._usage + self._running)])
        self._spinner.update(text=Text(footer, style="dim", no_wrap=True, overflow="ellipsis"))

    def close(self) -> None:
        """Remove the footer and release the terminal."""
        self._flush()
        self._live.stop()

    def _agent(self, said: StreamEvent) -> None:
        match said:
            case Message():
                self._speak(said)
            case ToolUse():
                self._say(f"  ► {words.tool(said)}", "blue")
            case ToolResult() if said.output and (self._verbose or said.is_error):
                for text in words.tool_output(said).split("\n"):
                    self._say(text, "red" if said.is_error else "dim")
            case Retry() | Denied() | Failure():
                self._say(f"  ! {words.trouble(said)}", "yellow")
            case UsageSoFar() | Done():
                self._running = said.usage
            case _:
                pass

    def _speak(self, said: Message) -> None:
        """Print complete lines; hold back an unfinished one, which the footer would break."""
        text = self._open_line + clean(said.text)
        whole, newline, self._open_line = text.rpartition("\n")
        if newline:
            self._console.print(Text(whole, style="dim" if said.subagent else ""))
        if not said.partial or len(self._open_line) > _OPEN_LINE_LIMIT:
            self._flush()

    def _flush(self) -> None:
        if self._open_line:
            self._console.print(Text(self._open_line))
            self._open_line = ""

    def _say(self, text: str, style: str) -> None:
        self._flush()
        if text:
            self._console.print(Text(" ".join(clean(text).split("\n")), style=style))

    def _entitle(self, where: str) -> None:
        if self._title:
            self._console.set_window_title(f"{self._title} · {where}")

    def _now(self, doing: str) -> None:
        self._doing = doing
        self._since = time.monotonic()
