"""Turns a loop's events into blocks of HTML. A later event can complete a block: a tool's result, more of a message.

Agent output is data: it is cleaned and escaped here, once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from spool.app.reporting.journal_pages import JournalEntry
from spool.domain.agent.stream import AgentRetry, Denied, Done, Failure, Message, StreamEvent, ToolResult, ToolUse
from spool.domain.judging.gates.gate import JUDGING
from spool.domain.loop import events
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import clean, counted
from spool.views import words
from spool.views.live.narration import NarrationLine, narrate
from spool.views.live.speech import flagged
from spool.views.look import DONE, FAILED, RUNNING, Role
from spool.views.report.parts import raw, role_name, text
from spool.web.links import Links
from spool.web.markdown import rendered

_PIECE = 8_192
"""Characters of a message that are rendered as one block."""
_LONGEST_MESSAGE = 8 * _PIECE
_LONGEST_OUTPUT = 6_000
"""Characters of a tool's output to show: its end, where a traceback says what went wrong."""
_PENDING = 64
"""Tool calls whose results are awaited."""


@dataclass
class _MessageBlock:
    """A message, or the part of it that is known so far."""

    at: int
    text: str = ""
    left_out: int = 0

    def add(self, more: str) -> None:
        room = max(0, _LONGEST_MESSAGE - len(self.text))
        self.text += more[:room]
        self.left_out += max(0, len(more) - room)

    def html(self, whole: str) -> str:
        said = flagged(self.text)
        parts, fenced = [], False
        for start in range(0, len(said), _PIECE):
            piece = said[start : start + _PIECE]
            parts.append(rendered(f"```\n{piece}" if fenced else piece))
            fenced ^= bool((piece.count("\n```") + piece.startswith("```")) % 2)
        more = f"<p><small>{self.left_out:,} more characters: {whole}</small></p>" if self.left_out else ""
        return f'<div class="said">{"".join(parts)}{more}</div>'


@dataclass
class _Call:
    """A tool call and its result, or a result alone."""

    at: int
    use: ToolUse | None = None
    result: ToolResult | None = None
    result_at: int = 0
    running: bool = False

    def html(self, whole: str) -> str:
        named = words.tool(self.use) if self.use else "result"
        if self.result is None:
            state = f" <small>{RUNNING} running</small>" if self.running else ""
            return f'<p class="call">{text(named)}{state}</p>'
        bad = self.result.is_error
        output = clean(self.result.output).rstrip()
        size = counted(len(output.splitlines()), "line") if output else "no output"
        head = f"{f'{FAILED} ' if bad else ''}{text(named)} <small>{size}</small>"
        if not output:
            return f'<p class="call{" bad" if bad else ""}">{head}</p>'
        cut = len(output) - _LONGEST_OUTPUT
        more = f"<p><small>{cut:,} characters before these: {whole}</small></p>" if cut > 0 else ""
        body = f"{more}<pre>{raw(output[-_LONGEST_OUTPUT:])}</pre>"
        return f'<details class="call{" bad" if bad else ""}"><summary>{head}</summary>{body}</details>'


@dataclass
class _GateBlock:
    """A gate that runs, or has run."""

    at: int
    began: events.GateStarted | None = None
    ended: events.GateEnded | None = None

    def html(self, _: str) -> str:
        if self.ended is None:
            assert self.began is not None  # noqa: S101 - a gate begins or ends
            return _told(NarrationLine("", f"{RUNNING} {words.checking(self.began)}", Role.RUNNING))
        judged = self.ended.purpose in JUDGING
        sign = (f"{DONE} " if self.ended.green else f"{FAILED} ") if judged else ""
        role = (Role.GOOD if self.ended.green else Role.BAD) if judged else Role.DIM
        return _told(NarrationLine("", f"{sign}{words.checked(self.ended)}", role))


@dataclass
class _NoteBlock:
    """The loop's own notes."""

    at: int
    told: list[NarrationLine]

    def html(self, _: str) -> str:
        return "".join(map(_told, self.told))


_Block = _MessageBlock | _Call | _GateBlock | _NoteBlock


class PageTranscript:
    """Reads events in order, and returns the new or changed blocks."""

    def __init__(self, links: Links, loop: LoopSummary) -> None:
        self._links = links
        self._loop = loop
        self._changed: dict[int, _Block] = {}
        self._speech: _MessageBlock | None = None
        self._spoken = ""
        self._calls: dict[str, _Call] = {}
        self._last_call: _Call | None = None
        self._gate: _GateBlock | None = None
        self._read = 0

    @property
    def resumes_at(self) -> int:
        """From where a later reader gets the blocks that are still open again; the others have their ids already."""
        waiting = [block.at for block in (self._speech, self._gate, *self._calls.values()) if block]
        return min([self._read, *waiting])

    def take(self, rows: Iterable[JournalEntry]) -> str:
        """Add events, and return the blocks that are new or have changed, as HTML."""
        for placed in rows:
            self._read = placed.stop
            self._see(placed.start, placed.event)
        shown = "".join(self._html(block) for _, block in sorted(self._changed.items()))
        self._changed.clear()
        return shown

    def _html(self, block: _Block) -> str:
        at = block.result_at if isinstance(block, _Call) else block.at
        whole = f'<a href="{self._links.output(self._loop, at)}">show all</a>'
        return f'<div class="block" id="e{block.at}" data-at="{block.at}">{block.html(whole)}</div>'

    def _see(self, at: int, event: events.Event) -> None:
        match event:
            case events.AgentEvent(event=said) | events.StoryEvent(event=said):
                self._hear(at, said)
                return
            case events.GateStarted():
                self._gate = _GateBlock(at, began=event)
                self._show(self._gate)
            case events.GateEnded():
                gate, self._gate = self._gate or _GateBlock(at), None
                gate.ended = event
                self._show(gate)
            case events.IterationStarted() | events.IterationEnded() | events.RunStarted() | events.RunEnded():
                self._end_calls()
        self._end_speech()
        if not isinstance(event, events.GateStarted) and (told := loop_lines(event)):
            self._show(_NoteBlock(at, told))

    def _hear(self, at: int, said: StreamEvent) -> None:
        if isinstance(said, Message):
            self._speech = self._speech or _MessageBlock(at)
            self._speech.add(said.text)
            self._show(self._speech)
            if not said.partial:
                self._end_speech()
            return
        self._end_speech()
        match said:
            case ToolUse():
                self._call(_Call(at, said, running=bool(said.call_id)))
            case ToolResult():
                self._answer(at, said)
            case AgentRetry() | Denied() | Failure():
                self._show(_NoteBlock(at, [NarrationLine("", f"{FAILED} {words.trouble(said)}", Role.WARN)]))
            case Done() if said.content and said.content.strip()[:200] not in self._spoken:
                self._show(_MessageBlock(at, said.content[:_LONGEST_MESSAGE]))
            case _:
                pass

    def _call(self, call: _Call) -> None:
        self._last_call = call
        self._show(call)
        if call.use and call.use.call_id:  # without one, only the next result can be its own
            self._calls[call.use.call_id] = call
        while len(self._calls) > _PENDING:
            del self._calls[next(iter(self._calls))]

    def _end_calls(self) -> None:
        for call in self._calls.values():
            call.running = False
            self._show(call)
        self._calls.clear()
        self._last_call = None

    def _answer(self, at: int, said: ToolResult) -> None:
        call = self._calls.pop(said.call_id, None) if said.call_id else self._last_call
        if call is None or call.result is not None:
            call = _Call(at)
        call.result, call.result_at = said, at
        self._show(call)

    def _show(self, block: _Block) -> None:
        self._changed[block.at] = block

    def _end_speech(self) -> None:
        if self._speech is not None:
            self._spoken, self._speech = self._speech.text, None


def loop_lines(event: events.Event) -> list[NarrationLine]:
    """Return what an event of the loop itself says."""
    match event:
        case events.CheckpointSaved():
            return [NarrationLine("", "saved the working tree; a failed attempt reverts to it", Role.DIM)]
        case events.StopRequested():
            return [NarrationLine("", f"stop requested by {event.by}{', forced' if event.forced else ''}", Role.WARN)]
        case events.Error():
            return [NarrationLine("", event.reason, Role.BAD), *narrate(event, verbose=True)]
        case _:
            return narrate(event, verbose=True)


def _told(told: NarrationLine) -> str:
    tag = "h3" if told.heading and told.role is Role.RUNNING else "p"
    strong = " strong" if told.heading else ""
    return f'<{tag} class="told {role_name(told.role)}{strong}">{text(told.text)}</{tag}>'


def whole_text(event: events.Event) -> str:
    """Return the uncut text of a message or a tool's output; empty for other events."""
    match event:
        case events.AgentEvent(event=said) | events.StoryEvent(event=said):
            match said:
                case Message(text=found) | ToolResult(output=found) | Done(content=found):
                    return clean(found)
    return ""
