"""Renders a story's transcript as blocks of the screen; calls in a row fold into a group."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import assert_never

import msgspec

from spool.app.loops.client import JournalEntry
from spool.domain.agent.stream import Message, ToolResult
from spool.domain.loop.events import Event, said_in
from spool.domain.text.plain_text import one_line
from spool.tui.blocks import NO_FOLD, TONES, Block, Tone, line, markdown, plain, rule
from spool.views import words
from spool.views.live.narration import NarrationLine
from spool.views.live.speech import flagged, in_fence
from spool.views.look import Role
from spool.views.transcript import GateChain, LoopNote, ToolCall, Transcript, TranscriptBlock, Utterance


def transcribe(rows: Iterable[JournalEntry]) -> list[Block]:
    """Return the blocks of some events."""
    transcript, found = Transcript(), dict[int, TranscriptBlock]()
    for placed in rows:
        found |= {block.at: block for block in transcript.take(placed.start, placed.event)}
    rows_of_calls = groupby(found.values(), lambda one: one.row if isinstance(one, ToolCall) else one.at)
    return [block for _, row in rows_of_calls for block in _rendered(list(row))]


def long_text(event: Event) -> str:
    """Return the text of an event whose length is unbounded."""
    match said_in(event):
        case Message(text=text) | ToolResult(output=text):
            return text
        case _:
            return ""


def transcribe_part(placed: JournalEntry, start: int, stop: int) -> list[Block]:
    """Return the blocks of some characters of one long event."""
    match said_in(placed.event):
        case Message(text=text):
            return markdown(flagged(text[start:stop]), fenced=in_fence(text, start))
        case ToolResult() as said:
            return _result(said, placed.start, start, stop)
        case _:
            return []


def _rendered(row: Sequence[TranscriptBlock]) -> list[Block]:
    """Return a block, or calls in a row."""
    calls = [block for block in row if isinstance(block, ToolCall)]
    match row[0]:
        case Utterance(text=text):
            return markdown(flagged(text)) if text.strip() else []
        case ToolCall():
            return _call(calls[0]) if len(calls) == 1 else _group(calls)
        case GateChain(line=told):
            return [_told(told)]
        case LoopNote(lines=lines):
            return [_told(told) for told in lines]
        case block:
            assert_never(block)


def _group(calls: Sequence[ToolCall]) -> list[Block]:
    """Return calls in a row: one line with their number and tools, under which each unfolds to its output."""
    fold = -calls[0].row - 2  # a fold of its own beside that of its first call
    counts = Counter(one_line(call.use.tool, 40) for call in calls if call.use).most_common()
    tools = ", ".join(f"{tool} ×{count}" if count > 1 else tool for tool, count in counts)  # noqa: RUF001
    failed = sum(call.failed for call in calls)
    last = [call for call in calls if call.result is None and not call.ended][-1:]
    now = "".join(f" · last: {words.tool(call.use)}" for call in last if call.use)
    head = f"{len(calls)} calls: {tools}{f' · {failed} failed' if failed else ''}{now}"
    return [line(head, Tone.CALL, fold=fold), *(block for call in calls for block in _inside(call, fold))]


def _inside(call: ToolCall, fold: int) -> list[Block]:
    """Return a call of a group; the line of one that failed stays visible."""
    return [
        msgspec.structs.replace(block, within=NO_FOLD if block.head and call.failed else fold, indent=block.indent + 2)
        for block in _call(call)
    ]


def _call(call: ToolCall) -> list[Block]:
    if call.use is None:
        return _result(call.result, call.at) if call.result else []
    head = line(words.call(call.use, call.result), Tone.BAD if call.failed else Tone.CALL, fold=call.at)
    return [head, *_output(call.result, call.at)] if call.result else [head]


def _result(said: ToolResult, fold: int, start: int = 0, stop: int | None = None) -> list[Block]:
    """Return a result whose call is not on this page, or a part of a long one."""
    size = f"{len(said.output):,} characters" if said.output else "empty"
    head = [line(f"{'error' if said.is_error else 'result'}: {size}", _tone(said), fold=fold)] if not start else []
    return head + _output(said, fold, start, stop)


def _output(said: ToolResult, fold: int, start: int = 0, stop: int | None = None) -> list[Block]:
    return plain(said.output[start:stop] or "(no output)", tone=_tone(said), indent=4, fold=fold)


def _tone(said: ToolResult) -> Tone:
    return Tone.BAD if said.is_error else Tone.DIM


def _told(told: NarrationLine) -> Block:
    tone = TONES[told.role]
    return rule(told.text, tone) if told.heading and told.role is not Role.WARN else line(told.text, tone)
