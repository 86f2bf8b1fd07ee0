"""Converts a story's events to blocks, the units of paged views.

Agent output is data: it is cleaned here, once, and never parsed as the screen's markup.
"""

import re
from collections.abc import Iterable
from enum import Enum, auto
from typing import assert_never

import msgspec

from spool.app.client import Placed
from spool.domain import events
from spool.domain.stream import Denied, Done, Failure, Message, Retry, StreamEvent, ToolResult, ToolUse, UsageSoFar
from spool.domain.text import clean, one_line
from spool.views import words
from spool.views.look import PROMISE, Role
from spool.views.narration import Told, narrate

PIECE = 4_096
"""Maximum characters in a block, so that painting one takes a few milliseconds however long the message."""
NO_FOLD = -1
_LONGEST_LINE = 400
_PROMISED = re.compile(r"^[ \t]*<promise>[ \t]*([^<>\n]{1,400}?)[ \t]*</promise>[ \t]*$", re.MULTILINE | re.IGNORECASE)
"""A promise on a line of its own, as it ends a message."""


class Form(Enum):
    """The layout of a block."""

    MARKDOWN = auto()
    TEXT = auto()
    LINE = auto()
    RULE = auto()


class Tone(Enum):
    """The meaning of a block, which sets its colour."""

    PLAIN = auto()
    DIM = auto()
    STRONG = auto()
    CALL = auto()
    GOOD = auto()
    WARN = auto()
    BAD = auto()
    HUNK = auto()


_TONES = {
    Role.GOOD: Tone.GOOD,
    Role.PROVED: Tone.GOOD,
    Role.ODD: Tone.STRONG,
    Role.RUNNING: Tone.CALL,
    Role.DIM: Tone.DIM,
}
"""The tones of the narration's colours; all others are warnings here."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One unit of a paged view, small enough to paint in one go."""

    text: str
    form: Form = Form.TEXT
    tone: Tone = Tone.PLAIN
    indent: int = 0
    fold: int = NO_FOLD
    """The number of its fold; blocks with the same number fold together."""
    head: bool = False
    """Whether this line stays visible and unfolds the rest."""


def said_in(event: object) -> StreamEvent | None:
    """Return the agent's stream event in an event, if any."""
    return event.event if isinstance(event, events.StoryEvent | events.AgentEvent) else None


def long_text(event: object) -> str:
    """Return the text of an event whose length is unbounded."""
    match said_in(event):
        case Message(text=text) | ToolResult(output=text):
            return text
        case _:
            return ""


def cut(text: str, start: int, limit: int) -> int:
    """Return the end of the piece that starts at `start`: after a newline if possible, never past the limit."""
    stop = start + limit
    if stop >= len(text):
        return len(text)
    newline = text.rfind("\n", start + limit // 2, stop)
    return stop if newline < 0 else newline + 1


def pieces(text: str, limit: int = PIECE) -> Iterable[str]:
    """Split a text into pieces of at most `limit` characters."""
    start = 0
    while start < len(text):
        stop = cut(text, start, limit)
        yield text[start:stop]
        start = stop


def markdown(text: str) -> list[Block]:
    """Return a text as Markdown blocks; a split fence continues in the next one."""
    found, fenced = [], False
    for piece in pieces(text):
        shown = f"```\n{piece}" if fenced else piece
        fenced ^= bool((piece.count("\n```") + piece.startswith("```")) % 2)
        found.append(Block(text=clean(shown), form=Form.MARKDOWN))
    return found


def line(text: str, tone: Tone = Tone.PLAIN, *, indent: int = 0, fold: int = NO_FOLD) -> Block:
    """Return a text as one line, which is the head of `fold` if given."""
    shown = one_line(text, _LONGEST_LINE)
    return Block(text=shown, form=Form.LINE, tone=tone, indent=indent, fold=fold, head=fold != NO_FOLD)


def rule(text: str, tone: Tone = Tone.STRONG) -> Block:
    """Return a heading followed by a rule."""
    return Block(text=one_line(text, _LONGEST_LINE), form=Form.RULE, tone=tone)


def plain(text: str, *, tone: Tone = Tone.PLAIN, indent: int = 0, fold: int = NO_FOLD) -> list[Block]:
    """Return a text verbatim, as blocks."""
    return [Block(text=clean(piece).rstrip("\n"), tone=tone, indent=indent, fold=fold) for piece in pieces(text)]


def transcribe(rows: Iterable[Placed], *, start: int = 0, stop: int | None = None) -> list[Block]:
    """Return the blocks of some events; `start` and `stop` select the characters of a single long one."""
    transcript = _Transcript()
    for placed in rows:
        transcript.take(placed, start, stop)
    transcript.end_speech()
    return transcript.blocks


class _Transcript:
    """Joins the parts of a message, and a tool's call with its result."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._speech: list[str] = []
        self._calls: dict[str, int] = {}
        self._last_call = NO_FOLD

    def take(self, placed: Placed, start: int, stop: int | None) -> None:
        event = placed.event
        said = said_in(event)
        if isinstance(said, Message):
            self._speak(said, start, stop)
            return
        self.end_speech()
        if said is not None:
            self._act(said, placed.start, start, stop)
        else:
            self.blocks += _loop_event(event)

    def end_speech(self) -> None:
        text = _PROMISED.sub(rf"{PROMISE} \1", "".join(self._speech))
        self._speech.clear()
        if text.strip():
            self.blocks += markdown(text)
            self._last_call = NO_FOLD

    def _speak(self, said: Message, start: int, stop: int | None) -> None:
        text = said.text[start:stop]
        # A long message is shown in parts; a part that starts inside a fence reopens it.
        if start and (said.text.count("\n```", 0, start) + said.text.startswith("```")) % 2:
            text = f"```\n{text}"
        self._speech.append(text)
        if not said.partial:
            self.end_speech()

    def _act(self, said: StreamEvent, key: int, start: int, stop: int | None) -> None:
        match said:
            case ToolUse():
                self._calls[said.call_id] = self._last_call = key
                self._line(words.tool(said), Tone.CALL, fold=key)
            case ToolResult():
                self._answer(said, key, start, stop)
            case Retry() | Denied() | Failure():
                self._line(f"! {words.trouble(said)}", Tone.WARN)
            case Done():
                if said.content and not self._repeats(said.content):
                    self.blocks += markdown(said.content)
            case Message() | UsageSoFar():
                pass
            case _:
                assert_never(said)

    def _answer(self, said: ToolResult, key: int, start: int, stop: int | None) -> None:
        part = said.output[start:stop]
        tone = Tone.BAD if said.is_error else Tone.DIM
        fold = self._calls.get(said.call_id, NO_FOLD) if said.call_id else self._last_call
        if start or part != said.output or fold == NO_FOLD:
            fold = key
            if not start:
                size = f"{len(said.output):,} characters" if said.output else "empty"
                self._line(f"{'error' if said.is_error else 'result'}: {size}", tone, fold=fold)
        self.blocks += plain(part or "(no output)", tone=tone, indent=4, fold=fold)

    def _repeats(self, content: str) -> bool:
        """Whether a final answer only repeats the last message, as most agents' do."""
        return any(block.form is Form.MARKDOWN and content.strip()[:200] in block.text for block in self.blocks[-8:])

    def _line(self, text: str, tone: Tone, *, fold: int = NO_FOLD) -> None:
        self.blocks.append(line(text, tone, fold=fold))


def _loop_event(event: events.Event) -> list[Block]:
    """Return an event of the loop itself as single lines: as the other views narrate it, or in words of its own."""
    match event:
        case events.IterationStarted():
            at = f", {words.clock(event.at)}" if event.at else ""
            return [rule(f"iteration {event.iteration}{at}")]
        case events.Reverted() | events.TreeKept():
            return [line(words.story(event), Tone.WARN)]
        case events.Waiting():
            return [line(words.waiting(event), Tone.WARN)]
        case events.CheckpointSaved():
            return [line("saved the working tree; a failed attempt reverts to it", Tone.DIM)]
        case events.StopRequested():
            return [line(f"stop requested by {one_line(event.by)}{', forced' if event.forced else ''}", Tone.WARN)]
        case _:
            head = [rule(event.reason, Tone.BAD)] if isinstance(event, events.Error) else []
            return head + [_told(told) for told in narrate(event, verbose=True)]


def _told(told: Told) -> Block:
    tone = _TONES.get(told.role, Tone.WARN)
    return rule(told.text, tone) if told.heading else line(told.text, tone)
