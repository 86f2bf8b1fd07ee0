"""Folds a loop's events into the blocks of a transcript. Terminal, screen and page only render these blocks.

A later event can complete a block: more of a message, a call's result, the next gate of a claim.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

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
from spool.domain.judging.gates.gate import JUDGING
from spool.domain.loop import events
from spool.views import words
from spool.views.live.narration import NarrationLine, narrate
from spool.views.look import FAILED, RUNNING, Role

_PENDING = 64
"""Calls whose results are awaited."""
_COMPARED = 200
"""Characters by which a final answer is recognised as the last message again."""
_BETWEEN_GATES = (events.Working, events.Warned, events.CheckpointSaved, events.CheckpointDropped)
"""Events that may stand between two gates of one claim."""
_BOUNDS = (events.RunStarted, events.IterationStarted, events.IterationEnded, events.RunEnded)
"""Events after which no call of an agent is running."""


@dataclass(eq=False)
class Utterance:
    """A message, or the part of it that is known so far."""

    at: int
    when: datetime | None
    text: str = ""
    more: str = ""
    """The latest part."""
    left_out: int = 0
    """Characters beyond those that are kept."""
    open: bool = True
    """Whether more may follow."""
    subagent: bool = False
    final: bool = False
    """Whether it is the agent's final answer, which some agents do not give as a message."""


@dataclass(eq=False)
class ToolCall:
    """A tool call and its result, or a result alone."""

    at: int
    when: datetime | None
    row: int
    """The place of the first of the calls in a row that it belongs to."""
    use: ToolUse | None = None
    result: ToolResult | None = None
    result_at: int = 0
    ended: bool = False
    """Whether its iteration is over, with a result or without."""

    @property
    def running(self) -> bool:
        """Whether its result is still to come; without an id nobody knows."""
        return bool(self.use and self.use.call_id) and self.result is None and not self.ended

    @property
    def failed(self) -> bool:
        """Whether its result is an error."""
        return self.result is not None and self.result.is_error


@dataclass(eq=False)
class GateChain:
    """The gates that ran one after the other, for one claim or before the first agent."""

    at: int
    when: datetime | None
    runs: list[events.GateStarted | events.GateEnded] = field(default_factory=list)
    open: bool = True
    """Whether another gate may follow."""

    @property
    def line(self) -> NarrationLine:
        """All runs in one line. A green one has no tick: the verdict on the claim says what it is worth."""
        text = words.gate_chain(self.runs)
        if any(isinstance(run, events.GateEnded) and run.purpose in JUDGING and not run.green for run in self.runs):
            return NarrationLine("--- ", f"{FAILED} {text}", Role.BAD)
        if self.open and isinstance(self.runs[-1], events.GateStarted):
            return NarrationLine("--- ", f"{RUNNING} {text}", Role.ODD)
        judged = any(run.purpose in JUDGING for run in self.runs)
        return NarrationLine("--- ", text, Role.PLAIN if judged else Role.DIM)


@dataclass(eq=False)
class LoopNote:
    """What the loop itself did, or what troubled the agent."""

    at: int
    when: datetime | None
    lines: Sequence[NarrationLine]


TranscriptBlock = Utterance | ToolCall | GateChain | LoopNote


class Transcript:
    """Reads events in order; of a message it keeps at most `longest` characters."""

    def __init__(self, *, verbose: bool = True, longest: int | None = None) -> None:
        self._verbose = verbose
        self._longest = longest
        self._speech: Utterance | None = None
        self._spoken = ""
        self._calls: dict[str, ToolCall] = {}
        self._last_call: ToolCall | None = None
        self._row: int | None = None
        self._gates: GateChain | None = None

    @property
    def open_since(self) -> int | None:
        """The place of the first block that a later event may complete."""
        waiting = [block.at for block in (self._speech, self._gates, *self._calls.values()) if block]
        return min(waiting, default=None)

    def take(self, at: int, event: events.Event) -> list[TranscriptBlock]:
        """Add an event that stands at a place of the journal; return the blocks that are new or have changed."""
        said = events.said_in(event)
        if said is not None:
            return [*self._end_gates(), *self._hear(at, event.at, said)]
        return list(self._note(at, event))

    def _hear(self, at: int, when: datetime | None, said: StreamEvent) -> Iterator[TranscriptBlock]:
        if not isinstance(said, Message):
            self._end_speech()
        match said:
            case Message():
                yield from self._speak(at, when, said)
            case ToolUse():
                yield self._call(at, when, said)
            case ToolResult():
                yield self._answer(at, when, said)
            case AgentRetry() | Denied() | Failure():
                self._row = None
                yield LoopNote(at, when, [NarrationLine("  ", f"{FAILED} {words.trouble(said)}", Role.WARN)])
            case Done():
                if said.content and said.content.strip()[:_COMPARED] not in self._spoken:
                    self._row = None
                    yield self._longer(Utterance(at, when, open=False, final=True), said.content)
            case UsageSoFar():
                pass
            case _:
                assert_never(said)

    def _speak(self, at: int, when: datetime | None, said: Message) -> Iterator[TranscriptBlock]:
        if said.text or self._speech:
            self._row = None
            self._speech = self._speech or Utterance(at, when, subagent=said.subagent)
            self._speech.open = said.partial
            yield self._longer(self._speech, said.text)
        if not said.partial:
            self._end_speech()

    def _longer(self, block: Utterance, more: str) -> Utterance:
        room = len(more) if self._longest is None else max(0, self._longest - len(block.text))
        block.text += more[:room]
        block.left_out += max(0, len(more) - room)
        block.more = more
        return block

    def _end_speech(self) -> None:
        if self._speech is not None:
            self._speech.open = False
            self._spoken, self._speech = self._speech.text, None

    def _call(self, at: int, when: datetime | None, said: ToolUse) -> ToolCall:
        self._row = at if self._row is None else self._row
        call = self._last_call = ToolCall(at, when, self._row, use=said)
        if said.call_id:  # without one, only the next result can be its own
            self._calls[said.call_id] = call
        while len(self._calls) > _PENDING:
            del self._calls[next(iter(self._calls))]
        return call

    def _answer(self, at: int, when: datetime | None, said: ToolResult) -> ToolCall:
        call = self._calls.pop(said.call_id, None) if said.call_id else self._last_call
        if call is None or call.result is not None:
            call, self._row = ToolCall(at, when, at), None
        call.result, call.result_at = said, at
        return call

    def _note(self, at: int, event: events.Event) -> Iterator[TranscriptBlock]:
        self._end_speech()
        self._row = None
        if isinstance(event, events.GateStarted | events.GateEnded):
            yield self._check(at, event)
            return
        if not isinstance(event, _BETWEEN_GATES):
            yield from self._end_gates()
        if isinstance(event, _BOUNDS):
            yield from self._end_calls()
        if told := narrate(event, verbose=self._verbose):
            yield LoopNote(at, event.at, told)

    def _check(self, at: int, event: events.GateStarted | events.GateEnded) -> GateChain:
        chain = self._gates = self._gates or GateChain(at, event.at)
        if isinstance(event, events.GateEnded) and chain.runs and isinstance(chain.runs[-1], events.GateStarted):
            chain.runs.pop()
        chain.runs.append(event)
        return chain

    def _end_gates(self) -> Iterator[TranscriptBlock]:
        if self._gates is not None:
            self._gates.open = False
            yield self._gates
            self._gates = None

    def _end_calls(self) -> Iterator[TranscriptBlock]:
        for call in self._calls.values():
            call.ended = True
            yield call
        self._calls.clear()
        self._last_call = None
