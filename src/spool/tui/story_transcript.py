"""Converts a story's events to blocks: messages, calls in groups, and what the loop itself did."""

from collections import Counter
from collections.abc import Iterable
from typing import assert_never

import msgspec

from spool.app.loops.client import JournalEntry
from spool.domain.agent.stream import (
    AgentRetry,
    Denied,
    Done,
    Failure,
    Message,
    StreamEvent,
    ToolResult,
    ToolUse,
    UsageSoFar,
)
from spool.domain.loop import events
from spool.domain.text.plain_text import one_line
from spool.tui.blocks import TONES, Block, Form, Tone, line, markdown, plain, rule, said_in
from spool.views import words
from spool.views.live.narration import NarrationLine, narrate
from spool.views.live.speech import flagged


def transcribe(rows: Iterable[JournalEntry], *, start: int = 0, stop: int | None = None) -> list[Block]:
    """Return the blocks of some events; `start` and `stop` select the characters of a single long one."""
    transcript = _StoryTranscript()
    for placed in rows:
        transcript.take(placed, start, stop)
    return transcript.finish()


class _StoryTranscript:
    """Joins the parts of a message, a tool's call with its result, and calls in a row to a group."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._speech: list[str] = []
        self._group: _Group | None = None

    def take(self, placed: JournalEntry, start: int, stop: int | None) -> None:
        event = placed.event
        said = said_in(event)
        if isinstance(said, Message):
            self._speak(said, start, stop)
            return
        self.end_speech()
        if said is not None:
            self._act(said, placed.start, start, stop)
        else:
            self._add(_loop_event(event))

    def end_speech(self) -> None:
        """Show what was said so far."""
        text = flagged("".join(self._speech))
        self._speech.clear()
        if text.strip():
            self._add(markdown(text))

    def finish(self) -> list[Block]:
        """Return all blocks."""
        self.end_speech()
        self._add(())
        return self.blocks

    def _add(self, blocks: Iterable[Block]) -> None:
        """Add blocks that end a group of calls."""
        if self._group is not None:
            self.blocks += self._group.blocks()
            self._group = None
        self.blocks += blocks

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
                self._group = self._group or _Group(key)
                self._group.call(said, key)
            case ToolResult():
                if self._group is None or not self._group.answer(said, whole=start == 0 and stop is None):
                    self._add(_result(said, key, start, stop))
            case AgentRetry() | Denied() | Failure():
                self._add([line(f"! {words.trouble(said)}", Tone.WARN)])
            case Done():
                if said.content and not self._repeats(said.content):
                    self._add(markdown(flagged(said.content)))
            case Message() | UsageSoFar():
                pass
            case _:
                assert_never(said)

    def _repeats(self, content: str) -> bool:
        """Whether a final answer only repeats the last message, as most agents' do."""
        start = flagged(content).strip()[:200]
        return any(block.form is Form.MARKDOWN and start in block.text for block in self.blocks[-8:])


class _Group:
    """Calls in a row: one line with their number and tools, under which each unfolds to its output."""

    def __init__(self, key: int) -> None:
        self._fold = -key - 2  # a fold of its own beside that of its first call
        self._calls: dict[int, list[Block]] = {}
        self._tools: list[str] = []
        self._keys: dict[str, int] = {}
        self._open: dict[int, ToolUse] = {}
        self._failed = 0

    def call(self, said: ToolUse, key: int) -> None:
        """Add a call."""
        self._keys[said.call_id] = key
        self._open[key] = said
        self._tools.append(one_line(said.tool, 40))
        self._calls[key] = [line(words.tool(said), Tone.CALL, fold=key)]

    def answer(self, said: ToolResult, *, whole: bool) -> bool:
        """Add a result to its call; return False if it has none here, or is shown in parts."""
        key = self._keys.get(said.call_id) if said.call_id else max(self._calls)
        if key is None or not whole:
            return False
        self._open.pop(key, None)
        self._failed += said.is_error
        tone = Tone.BAD if said.is_error else Tone.DIM
        self._calls[key] += plain(said.output or "(no output)", tone=tone, indent=4, fold=key)
        return True

    def blocks(self) -> list[Block]:
        """Return the calls, under one line if there are several."""
        if len(self._calls) == 1:
            return next(iter(self._calls.values()))
        counts = Counter(self._tools).most_common()
        tools = ", ".join(f"{tool} ×{count}" if count > 1 else tool for tool, count in counts)  # noqa: RUF001
        failed = f" · {self._failed} failed" if self._failed else ""
        now = f" · last: {words.tool(list(self._open.values())[-1])}" if self._open else ""
        head = line(f"{len(self._calls)} calls: {tools}{failed}{now}", Tone.CALL, fold=self._fold)
        inside = [block for blocks in self._calls.values() for block in blocks]
        replace = msgspec.structs.replace
        return [head, *(replace(one, within=self._fold, indent=one.indent + 2) for one in inside)]


def _result(said: ToolResult, key: int, start: int, stop: int | None) -> list[Block]:
    """Return a result whose call is not on this page, or a part of a long one."""
    tone = Tone.BAD if said.is_error else Tone.DIM
    size = f"{len(said.output):,} characters" if said.output else "empty"
    head = [line(f"{'error' if said.is_error else 'result'}: {size}", tone, fold=key)] if not start else []
    return head + plain(said.output[start:stop] or "(no output)", tone=tone, indent=4, fold=key)


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


def _told(told: NarrationLine) -> Block:
    tone = TONES[told.role]
    return rule(told.text, tone) if told.heading else line(told.text, tone)
