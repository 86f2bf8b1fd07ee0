"""The terminal view: coloured output above a footer with the current activity."""

import time

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from spool.domain.events import (
    AgentEvent,
    Error,
    Event,
    IterationEnded,
    IterationStarted,
    Retrying,
    Reverted,
    RunEnded,
    RunStarted,
    StopRequested,
    StoryDone,
    StoryEvent,
    StoryProgress,
    TreeKept,
    Waiting,
    Warned,
)
from spool.domain.outcome import OutcomeKind
from spool.domain.stream import Denied, Done, Failure, Message, Retry, StreamEvent, ToolResult, ToolUse, Usage
from spool.domain.text import clean
from spool.domain.verdict import Status
from spool.views import words

_OPEN_LINE_LIMIT = 4_000
_STORY_STYLE = {StoryDone: "bold green", Retrying: "bold yellow"}


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
        self._usage = Usage()

    def see(self, event: Event) -> None:
        """Print an event above the footer, which appears with the first one."""
        if not self._live.is_started:
            self._live.start()
        match event:
            case RunStarted():
                self._rule(f"{event.change} · {event.harness}{f' · {event.model}' if event.model else ''}", "bold")
            case IterationStarted():
                self._now(f"iteration {event.iteration}")
                self._entitle(f"iteration {event.iteration}")
                self._say("\n", "")
                self._rule(words.started(event), "bold cyan")
            case AgentEvent(event=said) | StoryEvent(event=said):
                self._agent(said)
            case StoryProgress() | StoryDone() | Retrying() | Reverted() | TreeKept():
                self._rule(words.story(event), _STORY_STYLE.get(type(event), "bold magenta"))
            case Error() if event.kept:
                self._say(words.kept(event), "yellow")
            case IterationEnded(record=record):
                good = record.outcome is OutcomeKind.COMPLETED and not record.rejected
                quiet = record.outcome in (OutcomeKind.NO_PROMISE, OutcomeKind.INTERRUPTED)
                self._rule(words.ended(record), "bold green" if good else "bold" if quiet else "bold red")
                self._say(words.why(record), "dim")
                for line in words.vetoed(record) if self._verbose else ():
                    self._say(line, "dim")
            case Waiting():
                self._now(words.waiting(event))
                self._rule(words.waiting(event), "bold yellow")
            case Warned():
                self._say(f"warning: {words.warning(event)}", "yellow")
            case StopRequested():
                self._now("stopping; press Ctrl-C again to force" if not event.forced else "force-stopping")
            case RunEnded():
                self._entitle(str(event.status))
                self._rule(words.over(event), "bold green" if event.status is Status.DONE else "bold red")
            case _:
                pass
        self.tick()

    def tick(self) -> None:
        """Update the footer."""
        elapsed = words.duration(time.monotonic() - self._since)
        footer = " · ".join([self._doing, elapsed, *words.spent(self._usage)])
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
                self._say(words.tool_output(said), "red" if said.is_error else "dim")
            case Retry() | Denied() | Failure():
                self._say(f"  ! {words.trouble(said)}", "yellow")
            case Done():
                self._usage += said.usage
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
            self._console.print(Text(text, style=style))

    def _rule(self, text: str, style: str) -> None:
        self._say(f"── {text}", style)

    def _entitle(self, where: str) -> None:
        if self._title:
            self._console.set_window_title(f"{self._title} · {where}")

    def _now(self, doing: str) -> None:
        self._doing = doing
        self._since = time.monotonic()
