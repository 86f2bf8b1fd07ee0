"""Views for pipes, files and CI: plain lines, or JSON lines."""

import shutil
import sys
from pathlib import Path
from typing import TextIO

from spool.app.loops.log_files import error_lines, open_log
from spool.domain.agent.stream import AgentRetry, Denied, Failure, Message, StreamEvent, ToolResult, ToolUse
from spool.domain.loop import events
from spool.domain.text.plain_text import clean, one_line
from spool.views import words
from spool.views.live.closing_block import ClosingBlock
from spool.views.live.narration import narrate
from spool.views.live.speech import Speech
from spool.views.say import json_text


class JsonView:
    """Prints each event as a JSON object on one line."""

    prints = True
    ticks = False

    def see(self, event: events.Event) -> None:
        """Print one event."""
        sys.stdout.buffer.write(json_text(event).encode() + b"\n")
        sys.stdout.buffer.flush()

    def tick(self) -> None:
        """Do nothing; printed lines need no refresh."""

    def close(self) -> None:
        """Do nothing; nothing is buffered."""


class PlainView:
    """Prints readable lines without colour or cursor movement."""

    prints = True
    ticks = False

    def __init__(self, *, stream: bool, verbose: bool, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._stream = self.reads_text = stream
        self._verbose = verbose
        self._mid_line = False
        self._speech = Speech()
        self._closing = ClosingBlock()

    def see(self, event: events.Event) -> None:
        """Print an event as a line, if it has one."""
        self._closing.see(event)
        match event:
            case events.AgentEvent(event=said) | events.StoryEvent(event=said) if self._stream:
                self._agent(said)
            case events.StopRequested():
                self._line(f"--- {'forced to stop' if event.forced else 'stopping'} ({event.by})")
            case events.IterationStarted() if not self._stream:
                pass
            case events.RunEnded():
                self._line("")
                for told in self._closing.lines(event):
                    self._line(told.mark + told.text)
            case _:
                if isinstance(event, events.IterationStarted):
                    self._line("")
                for told in narrate(event, verbose=self._verbose):
                    self._line(told.mark + told.text)
        self._out.flush()

    def tick(self) -> None:
        """Do nothing; printed lines need no refresh."""

    def close(self) -> None:
        """Finish a line that the agent left open."""
        self._fresh_line()
        self._out.flush()

    def _agent(self, said: StreamEvent) -> None:
        match said:
            case Message() if said.text:
                self._say(self._speech.take(clean(said.text)))
                if not said.partial:
                    self._fresh_line()
            case ToolUse():
                self._line(f"  > {words.tool(said)}")
            case ToolResult() if self._verbose and said.output:
                for text in words.tool_output(said).split("\n"):
                    self._line(text)
            case AgentRetry() | Denied() | Failure():
                self._line(f"  ! {words.trouble(said)}")
            case _:
                pass

    def _line(self, text: str) -> None:
        self._fresh_line()
        self._out.write(" ".join(clean(text).split("\n")) + "\n")

    def _say(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._mid_line = not text.endswith("\n")

    def _fresh_line(self) -> None:
        self._say(self._speech.end())
        if self._mid_line:
            self._out.write("\n")
            self._mid_line = False


class LogView:
    """Appends a run's plain lines, with tool results and what the agents wrote to standard error, to a file."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self._path = path
        if fresh and path.exists():
            path.rename(path.with_name(f"{path.name}.1"))
        self._file = open_log(path)
        self._lines = PlainView(stream=True, verbose=True, out=self._file)

    def see(self, event: events.Event) -> None:
        """Write an event as a line, if it has one."""
        if isinstance(event, events.RunStarted):
            model = f", model {event.model}" if event.model else ""
            what = one_line(f"{event.change} with {event.harness}{model}", 400)
            self._file.write(f"=== {words.moment(event.at) if event.at else ''}  {what}\n")
        if isinstance(event, events.IterationEnded) and event.record.log:
            self._lines.close()
            self._file.writelines(f"stderr: {clean(line)}\n" for line in error_lines(event.record.log))
        self._lines.see(event)
        if isinstance(event, events.IterationEnded | events.RunEnded):
            self._bring_back()

    def tick(self) -> None:
        """Do nothing; printed lines need no refresh."""

    def close(self) -> None:
        """Finish an open line and close the file."""
        self._lines.close()
        self._file.close()

    def _bring_back(self) -> None:
        """Recreate the log if it was deleted, as by an agent's `git clean -fdx`; our open file still has it all."""
        if self._path.exists() or not self._path.parents[1].is_dir():  # a removed worktree is not made anew
            return
        old, self._file = self._file, open_log(self._path)
        old.seek(0)
        shutil.copyfileobj(old, self._file)
        old.close()
        self._lines = PlainView(stream=True, verbose=True, out=self._file)
