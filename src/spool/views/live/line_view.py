"""Views for pipes, files and CI: plain lines, or JSON lines."""

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO, assert_never

from spool.app.loops.log_files import error_lines, open_log
from spool.app.observing.observers import Attention
from spool.domain.account.progress import LoopProgress
from spool.domain.loop import events
from spool.domain.text.plain_text import clean, one_line
from spool.views import words
from spool.views.live.narration import NarrationLine, closing_lines
from spool.views.live.speech import Speech
from spool.views.say import json_text
from spool.views.transcript import GateChain, LoopNote, ToolCall, Transcript, TranscriptBlock, Utterance


class JsonView:
    """Prints each event as a JSON object on one line."""

    attention = Attention(ticks=False, prints=True)

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

    def __init__(self, *, stream: bool, verbose: bool, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._stream = stream
        self.attention = Attention(text=stream, ticks=False, prints=True)
        self._verbose = verbose
        self._mid_line = False
        self._speech = Speech()
        self._transcript = Transcript(verbose=verbose, longest=0)
        self._progress = LoopProgress("")

    def see(self, event: events.Event) -> None:
        """Print an event as lines, if it has any."""
        self._progress.fold(event)
        blocks = self._transcript.take(0, event)
        match event:
            case events.RunEnded():
                self._line("")
                self._tell(closing_lines(self._progress, event))
            case events.IterationStarted() if not self._stream:
                pass
            case _:
                if isinstance(event, events.IterationStarted):
                    self._line("")
                for block in blocks:
                    self._show(block)
        self._out.flush()

    def tick(self) -> None:
        """Do nothing; printed lines need no refresh."""

    def close(self) -> None:
        """Finish a line that the agent left open."""
        self._fresh_line()
        self._out.flush()

    def _show(self, block: TranscriptBlock) -> None:
        match block:
            case Utterance():
                if self._stream and not block.final:
                    self._say(self._speech.take(clean(block.more)))
                    if not block.open:
                        self._fresh_line()
            case ToolCall():
                if self._stream:
                    self._show_call(block)
            case GateChain():
                if block.open and isinstance(started := block.runs[-1], events.GateStarted):
                    self._line(f"--- {words.checking(started)}")
            case LoopNote():
                self._tell(block.lines)
            case _:
                assert_never(block)

    def _show_call(self, call: ToolCall) -> None:
        """Print a call when it begins, and its output when it is there."""
        if call.result is None and call.use is not None and not call.ended:
            self._line(f"  > {words.tool(call.use)}")
        elif call.result is not None and self._verbose and call.result.output:
            for text in words.tool_output(call.result).split("\n"):
                self._line(text)

    def _tell(self, lines: Iterable[NarrationLine]) -> None:
        for told in lines:
            self._line(told.mark + told.text)

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

    attention = Attention()

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
