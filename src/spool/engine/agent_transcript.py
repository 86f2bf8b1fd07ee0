"""Decodes an agent's output and keeps what the outcome of its iteration needs."""

from collections.abc import Callable, Iterable

import msgspec

from spool.domain.agent.prices import Price, priced
from spool.domain.agent.stream import (
    AgentRetry,
    Denied,
    Done,
    ErrorKind,
    Failure,
    Message,
    StreamEvent,
    ToolResult,
    ToolUse,
    Usage,
    UsageSoFar,
)
from spool.domain.judging.promise.reader import PromiseReader
from spool.engine.ports import Decoder


class AgentTranscript:
    """Decodes an agent's output into events and keeps the facts that the outcome needs."""

    def __init__(
        self,
        decoder: Decoder,
        reader: PromiseReader,
        report: Callable[[StreamEvent], None],
        *,
        allow_all: bool = False,
        price: Price | None = None,
    ) -> None:
        self._decoder = decoder
        self._reader = reader
        self._report = report
        self._allow_all = allow_all
        self._price = price
        self._spoke = False
        self._promised: bool | None = None
        """Whether the output so far ends in a valid promise; None if it has to be read again."""
        self.usage = Usage()
        self.session = ""
        self.failure: Failure | None = None
        self.rate_limited_retry_s: float | None = None
        self.denied: list[str] = []
        self.reader_closed = False
        self.over = False
        """Whether the agent has reported its end."""

    def feed(self, chunk: bytes) -> None:
        """Decode the next chunk of output."""
        self._take(self._decoder.feed(chunk))

    def pause(self) -> None:
        """Decode what is certain while the agent is silent."""
        self._take(self._decoder.pause())

    def finish(self, stderr: str, side: str = "") -> None:
        """Decode the rest after the last chunk."""
        self._take(self._decoder.finish(stderr, side))
        if self.failure is not None:
            incomplete = self.failure.error is ErrorKind.INCOMPLETE
            self._reader.veto("the agent's output is incomplete" if incomplete else "the agent ended with an error")
            self._promised = None

    @property
    def promised(self) -> bool:
        """Whether the output so far ends in a valid promise."""
        if self._promised is None:
            self._promised = self._reader.current().kept is not None
        return self._promised

    def disbelieve(self, why: str) -> None:
        """Refuse all promises, earlier and later."""
        self._reader.end_message()
        self._reader.veto(why)
        self._promised = None
        self.reader_closed = True

    def _take(self, events: Iterable[StreamEvent]) -> None:
        for event in events:
            self._promised = None
            if isinstance(event, Denied) and event.withheld and self._allow_all:
                continue
            if isinstance(event, UsageSoFar | Done):
                event = msgspec.structs.replace(event, usage=priced(event.usage, self._price))  # noqa: PLW2901
            self._note(event)
            self._report(event)

    def _note(self, event: StreamEvent) -> None:
        match event:
            case Message(subagent=False, stray=False) if not self.reader_closed:
                self._spoke = True
                self._reader.feed(event.text)
                if not event.partial:
                    self._reader.end_message()
            case ToolUse(subagent=False) if "todo" not in event.tool.lower():  # a list that is updated is not work
                self._reader.tool_used()
            case Denied():
                self.denied.append(event.tool)
            case Failure():
                self.failure = event
            case UsageSoFar():
                self.usage = event.usage
            case Done():
                self.over = True
                if event.usage != Usage():  # one that failed may report none at its end
                    self.usage = event.usage
                self.session = event.session
                if event.content and not self._spoke and not self.reader_closed:
                    self._reader.feed(event.content)
                    self._reader.end_message()
            case ToolResult() | Message() | ToolUse() | AgentRetry():
                pass
        # Output after a stop request does not clear a rate limit: aider prints "^C again to exit".
        if not self.reader_closed:
            match event:
                case AgentRetry(rate_limited=True):
                    self.rate_limited_retry_s = event.delay_s or 0.0
                case _:
                    self.rate_limited_retry_s = None
