"""The terminal view: coloured output above a footer with the current activity."""

from datetime import UTC, datetime
from typing import assert_never

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from spool.app.observing.observers import Attention
from spool.domain.account.progress import LoopProgress
from spool.domain.loop import events
from spool.domain.text.plain_text import clean
from spool.views import words
from spool.views.live.estimates import activity
from spool.views.live.narration import NarrationLine, closing_lines
from spool.views.live.speech import Speech
from spool.views.look import RUNNING, Role
from spool.views.transcript import GateChain, LoopNote, ToolCall, Transcript, TranscriptBlock, Utterance

_OPEN_LINE_LIMIT = 4_000


class LiveView:
    """Streams the agent's work above a live footer."""

    attention = Attention(prints=True)

    def __init__(self, *, verbose: bool, title: str = "") -> None:
        self._verbose = verbose
        self._title = title
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._spinner = Spinner("dots", Text("starting"))
        self._live = Live(self._spinner, console=self._console, refresh_per_second=8, transient=True)
        self._open_line = ""
        self._speech = Speech()
        self._transcript = Transcript(verbose=verbose, longest=0)
        self._progress = LoopProgress("")
        self._stopping = ""

    def see(self, event: events.Event) -> None:
        """Print an event above the footer, which appears with the first one."""
        if not self._live.is_started:
            self._live.start()
        self._progress.fold(event)
        blocks = self._transcript.take(0, event)
        match event:
            case events.RunStarted():
                self._say(f"── {event.change}", "bold")
            case events.IterationStarted():
                self._entitle(f"iteration {event.iteration}")
                self._flush()
                self._console.print()
            case events.StopRequested():
                self._stopping = "force-stopping" if event.forced else "stopping; press Ctrl-C again to force"
            case events.RunEnded():
                self._entitle(str(event.status))
                self._flush()
                self._console.print()
                blocks = [LoopNote(0, event.at, closing_lines(self._progress, event))]
            case _:
                pass
        for block in blocks:
            self._show(block)
        self.tick()

    def tick(self) -> None:
        """Update the footer."""
        doing = self._stopping or activity(self._progress, datetime.now(UTC))
        footer = " · ".join([clean(doing), *words.spent(self._progress.usage)])
        self._spinner.update(text=Text(footer, style=Role.DIM.style, no_wrap=True, overflow="ellipsis"))

    def close(self) -> None:
        """Remove the footer and release the terminal."""
        self._flush()
        self._live.stop()

    def _show(self, block: TranscriptBlock) -> None:
        match block:
            case Utterance():
                if not block.final:
                    self._speak(block)
            case ToolCall():
                self._show_call(block)
            case GateChain():
                if not block.open:  # until then the footer shows the gate that runs
                    self._tell(block.line)
            case LoopNote():
                for told in block.lines:
                    self._tell(told)
            case _:
                assert_never(block)

    def _show_call(self, call: ToolCall) -> None:
        """Print a call when it begins, and an error when it is there; every output if that is wanted."""
        result = call.result
        if result is None and call.use is not None and not call.ended:
            self._say(f"  {RUNNING} {words.tool(call.use)}", Role.RUNNING.colour or "")
        elif result is not None and result.output and (self._verbose or result.is_error):
            for text in words.tool_output(result).split("\n"):
                self._say(text, (Role.BAD if result.is_error else Role.DIM).style.removeprefix("bold "))

    def _tell(self, told: NarrationLine) -> None:
        mark = "── " if told.heading else told.mark if told.mark.isspace() else ""
        self._say(f"{mark}{told.text}", told.style)

    def _speak(self, said: Utterance) -> None:
        """Print complete lines; hold back an unfinished one, which the footer would break."""
        text = self._open_line + self._speech.take(clean(said.more))
        whole, newline, self._open_line = text.rpartition("\n")
        if newline:
            self._console.print(Text(whole, style=Role.DIM.style if said.subagent else ""))
        if not said.open:
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
