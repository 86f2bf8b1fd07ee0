"""Views for pipes, files and CI: plain lines, or JSON lines."""

import sys

import msgspec

from spool.cli.views import words
from spool.domain.events import (
    AgentEvent,
    Error,
    Event,
    IterationEnded,
    IterationStarted,
    Retrying,
    Reverted,
    RunEnded,
    StopRequested,
    StoryDone,
    StoryEvent,
    StoryProgress,
    Waiting,
    Warned,
)
from spool.domain.stream import Denied, Failure, Message, Retry, StreamEvent, ToolResult, ToolUse
from spool.domain.text import clean, one_line

_ENCODE = msgspec.json.Encoder()


class JsonView:
    """Every event, one JSON object a line."""

    def show(self, event: Event) -> None:
        """Print one event."""
        sys.stdout.buffer.write(_ENCODE.encode(event) + b"\n")
        sys.stdout.buffer.flush()

    def tick(self) -> None:
        """Time passes without an event."""

    def close(self) -> None:
        """Nothing is held back."""


class PlainView:
    """Readable lines without colour or cursor movement."""

    def __init__(self, *, stream: bool, verbose: bool) -> None:
        self._stream = stream
        self._verbose = verbose
        self._mid_line = False

    def show(self, event: Event) -> None:
        """Print what a person wants to know of an event."""
        match event:
            case IterationStarted() if self._stream:
                self._line(f"--- {words.started(event)}")
            case AgentEvent(event=said) | StoryEvent(event=said) if self._stream:
                self._agent(said)
            case StoryProgress() | StoryDone() | Retrying() | Reverted():
                self._line(f"=== {words.story(event)}")
            case Error() if event.kept:
                self._line(f"--- {event.kept}")
            case IterationEnded(record=record):
                self._line(f"--- {words.ended(record)}")
                if reason := words.why(record):
                    self._line(f"    {reason}")
                for line in words.vetoed(record) if self._verbose else ():
                    self._line(f"    {line}")
            case Waiting():
                self._line(f"--- {words.waiting(event)}")
            case Warned():
                self._line(f"--- warning: {one_line(event.message, 400)}")
            case StopRequested():
                self._line(f"--- {'forced to stop' if event.forced else 'stopping'} ({event.by})")
            case RunEnded():
                self._line(f"--- {words.over(event)}")
            case _:
                pass
        sys.stdout.flush()

    def tick(self) -> None:
        """Time passes without an event."""

    def close(self) -> None:
        """End a line that the agent left open."""
        self._fresh_line()
        sys.stdout.flush()

    def _agent(self, said: StreamEvent) -> None:
        match said:
            case Message() if said.text:
                text = clean(said.text)
                sys.stdout.write(text)
                self._mid_line = not text.endswith("\n")
                if not said.partial:
                    self._fresh_line()
            case ToolUse():
                self._line(f"  > {words.tool(said)}")
            case ToolResult() if self._verbose and said.output:
                self._line(f"    {one_line(said.output)}")
            case Retry() | Denied() | Failure():
                self._line(f"  ! {words.trouble(said)}")
            case _:
                pass

    def _line(self, text: str) -> None:
        self._fresh_line()
        sys.stdout.write(text + "\n")

    def _fresh_line(self) -> None:
        if self._mid_line:
            sys.stdout.write("\n")
            self._mid_line = False
