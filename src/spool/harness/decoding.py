"""Shared decoding: JSON lines go to a harness's own translator, everything else is plain text.

Plain text is the assistant's until the first JSON event. After that its author is unknown: a hook, a plugin or a tool
may print to the agent's output. It is shown, but holds no promise.
"""

import codecs
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from spool.decoders import Decoder, decoder_of
from spool.domain.agent.stream import Done, Message, StreamEvent
from spool.domain.text.plain_text import folded, one_line
from spool.harness.lines import LineCutter, OutputLine, mended

_ANSWER = 1 << 16
"""Characters of plain text, from its end, that are an agent's final answer."""
_SUMMARY_KEYS = ("command", "cmd", "file_path", "filePath", "path", "pattern", "url", "query", "description", "prompt")


class Translator(Protocol):
    """Translates one CLI's JSON lines."""

    def event(self, line: bytes) -> Iterable[StreamEvent] | None:
        """Translate one line; None means that it is plain text, not an event of this CLI."""

    def end(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:
        """Report what is missing at the end of the output."""


class LineDecoder:
    """Feeds lines to a translator and yields all others as text.

    In a `mixed` stream plain text remains the assistant's after the first event.
    """

    def __init__(self, translator: Translator, *, mixed: bool = False, skip: tuple[bytes, ...] = ()) -> None:
        self._translator = translator
        self._lines = LineCutter(json=not isinstance(translator, PlainText), skip=skip)
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._in_text = False
        self._mixed = mixed
        self._saw_event = False
        self._plain = isinstance(translator, PlainText)
        self._answer = ""

    def feed(self, chunk: bytes) -> Iterator[StreamEvent]:
        """Decode the next bytes of standard output."""
        yield from self._translate(self._lines.feed(chunk))

    def pause(self) -> Iterator[StreamEvent]:
        """Yield the buffered start of a plain line."""
        yield from self._translate(self._lines.pending_text())

    def finish(self, stderr: str, side: str = "") -> Iterator[StreamEvent]:
        """Yield the remaining events."""
        yield from self._translate(self._lines.finish())
        yield from self._end_text()
        yield from self._translator.end(stderr, side)
        if self._plain:
            yield Done(content=self._answer)

    def _translate(self, lines: Iterable[OutputLine]) -> Iterator[StreamEvent]:
        """Translate lines; adjacent lines of text become one message, or a gigabyte makes millions of them."""
        text: list[bytes] = []
        for line in lines:
            events = self._events(line)
            if events is None:
                text.append(line.data)
                if line.ended:
                    text.append(b"\n")
                continue
            yield from self._flush(text)
            yield from self._end_text()
            yield from events
            self._saw_event = True
        yield from self._flush(text)

    def _events(self, line: OutputLine) -> Iterable[StreamEvent] | None:
        if not line.whole or line.data[:1] != b"{":
            return None
        try:
            return self._translator.event(line.data)
        except RecursionError:  # nested deeper than the parser allows
            return ()

    def _flush(self, text: list[bytes]) -> Iterator[StreamEvent]:
        decoded = folded(self._utf8.decode(b"".join(text)))
        text.clear()
        if decoded and self._saw_event and not self._mixed:
            yield Message(text=decoded, stray=True)
        elif decoded:
            self._in_text = True
            if self._plain:
                self._answer = (self._answer + decoded[-_ANSWER:])[-_ANSWER:]
            yield Message(text=decoded, partial=True)

    def _end_text(self) -> Iterator[StreamEvent]:
        """End an open plain-text message."""
        if self._in_text:
            self._in_text = False
            yield Message(text="")


_Event = TypeVar("_Event")
_Event_contra = TypeVar("_Event_contra", contravariant=True)


def read_json(decoder: Decoder[_Event], line: bytes) -> _Event | None:
    """Decode one line; repair it only on failure, since that costs more than decoding."""
    for attempt in (bytes, mended):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return decoder.decode(attempt(line))
    return None


class Ending(NamedTuple):
    """The facts known at the end of the output."""

    stderr: str = ""
    side: str = ""
    json: bool = False
    """Whether any JSON event was seen; a CLI that fails early, or in text mode, prints none."""


class TranslatedEvents(Protocol[_Event_contra]):
    """Translates one CLI's decoded events."""

    def take(self, event: _Event_contra) -> Iterable[StreamEvent]:
        """Translate one event."""

    def end(self, ending: Ending) -> Iterable[StreamEvent]:
        """Report what is missing at the end of the output."""


class JsonTranslator(Generic[_Event]):
    """Decodes JSON lines into one CLI's own event type, and skips events of an unknown shape."""

    def __init__(self, kind: type[_Event], events: TranslatedEvents[_Event], *, skip: tuple[bytes, ...] = ()) -> None:
        self._decode = decoder_of(kind)
        self._events = events
        self._skip = skip
        self._seen = False

    def event(self, line: bytes) -> Iterable[StreamEvent] | None:
        """Translate one line; a line that starts with one of `skip` is not parsed."""
        if self._skip and line.startswith(self._skip):
            self._seen = True
            return ()
        found = read_json(self._decode, line)
        if found is None and not is_event(line):
            return None
        self._seen = True
        return () if found is None else self._events.take(found)

    def end(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:
        """Report what is missing at the end of the output."""
        return self._events.end(Ending(stderr, side, self._seen))


class PlainText:
    """The translator for a CLI without JSON: every line is the assistant's."""

    def event(self, line: bytes) -> None:  # noqa: ARG002 - the protocol's signature
        """Return None: no line is an event."""
        return

    def end(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:  # noqa: ARG002 - the protocol's signature
        """Return nothing: plain text has no required end, and its decoder ends it."""
        return ()


def summarise(arguments: object) -> str:
    """Return the argument that best describes a tool call: its command, file or pattern."""
    if not isinstance(arguments, Mapping):
        return ""
    for key in _SUMMARY_KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return one_line(value, 160)
    return one_line(" ".join(str(value) for value in arguments.values() if isinstance(value, str)), 160)


def as_text(value: object) -> str:
    """Return a tool result's content as text, whatever its shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(as_text(part) for part in value)
    if isinstance(value, Mapping):
        return as_text(value.get("text", ""))
    return "" if value is None else str(value)


def uncached(total: int | None, cached: int | None) -> int | None:
    """Return the uncached tokens, for a CLI that includes cached ones in its total."""
    return None if total is None else max(0, total - (cached or 0))


def is_event(line: bytes) -> bool:
    """Whether a line is an event, even a torn one or one of an unknown shape."""
    if line.startswith(b'{"type":'):
        return True
    try:
        found: Any = msgspec.json.decode(line)  # noqa: TID251 - of no type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("type"), str)
