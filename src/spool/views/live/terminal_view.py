"""The terminal view: coloured output above a footer with the current activity."""

import time

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from spool.domain.agent.stream import (
    AgentRetry,
    Denied,
    Done,
    Failure,
    Message,
    StreamEvent,
    ToolResult,
    ToolUse,
    Usage,
    UsageSoFar,
)
from spool.domain.loop import events
from spool.domain.text.plain_text import clean
from spool.views import words
from spool.views.live.closing_block import ClosingBlock
from spool.views.live.estimates import Estimate
from spool.views.live.narration import narrate
from spool.views.live.speech import Speech
from spool.views.look import Role

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
        self._speech = Speech()
        self._doing = "starting"
        self._since = time.monotonic()
        self._estimate = Estimate()
        self._closing = ClosingBlock()
        self._usage = self._running = Usage()

    def see(self, event: events.Event) -> None:
        """Print an event above the footer, which appears with the first one."""
        if not self._live.is_started:
            self._live.start()
        self._closing.see(event)
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
                self._now(words.checking(event), event.expected_s)
            case events.Working():
                self._advance(event)
            case events.Waiting():
                self._now(words.waiting(event), event.seconds)
            case events.StopRequested():
                self._now("stopping; press Ctrl-C again to force" if not event.forced else "force-stopping")
            case events.RunEnded():
                self._entitle(str(event.status))
                self._flush()
                self._console.print()
            case _:
                pass
        over = self._closing.lines(event) if isinstance(event, events.RunEnded) else None
        for told in over or narrate(event, verbose=self._verbose):
            self._say(f"── {told.text}" if told.heading else told.text, told.style)
        self.tick()

    def tick(self) -> None:
        """Update the footer."""
        elapsed_s = time.monotonic() - self._since
        bar = self._estimate.words(elapsed_s)
        parts = [clean(self._doing), words.duration(elapsed_s), *words.spent(self._usage + self._running)]
        footer = " · ".join([bar, *parts] if bar else parts)
        self._spinner.update(text=Text(footer, style=Role.DIM.style, no_wrap=True, overflow="ellipsis"))

    def close(self) -> None:
        """Remove the footer and release the terminal."""
        self._flush()
        self._live.stop()

    def _agent(self, said: StreamEvent) -> None:
        match said:
            case Message():
                self._speak(said)
            case ToolUse():
                self._say(f"  ► {words.tool(said)}", Role.RUNNING.colour or "")
            case ToolResult() if said.output and (self._verbose or said.is_error):
                for text in words.tool_output(said).split("\n"):
                    self._say(text, (Role.BAD if said.is_error else Role.DIM).style.removeprefix("bold "))
            case AgentRetry() | Denied() | Failure():
                self._say(f"  ! {words.trouble(said)}", Role.WARN.style)
            case UsageSoFar() | Done():
                self._running = said.usage
            case _:
                pass

    def _speak(self, said: Message) -> None:
        """Print complete lines; hold back an unfinished one, which the footer would break."""
        text = self._open_line + self._speech.take(clean(said.text))
        whole, newline, self._open_line = text.rpartition("\n")
        if newline:
            self._console.print(Text(whole, style=Role.DIM.style if said.subagent else ""))
        if not said.partial:
            self._flush()
        elif len(self._open_line) > _OPEN_LINE_LIMIT:
            self._print_open_line()

    def _flush(self) -> None:
        self._open_line += self._speech.end()
        self._print_open_line()

    def _print_open_line(self) -> None:
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

    def _now(self, doing: str, expected_s: float = 0.0) -> None:
        self._doing = doing
        self._since = time.monotonic()
        self._estimate = Estimate(expected_s=expected_s)

    def _advance(self, event: events.Working) -> None:
        """Show how far Spool's own work is; the rate so far is the estimate of the rest."""
        if event.share == 0:
            self._now(words.working(event))
        elif event.share < 1:
            self._estimate = Estimate(reached=event.share, reached_s=time.monotonic() - self._since)
        else:
            self._now("continuing")
