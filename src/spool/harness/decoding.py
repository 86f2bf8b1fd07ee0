"""What the decoders share: JSON lines go to a harness's own translator, everything else is plain assistant text."""

import codecs
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from spool.domain.stream import Message, StreamEvent
from spool.domain.text import one_line
from spool.harness.lines import Line, LineCutter

_SPEAKING_KEYS = ("command", "cmd", "file_path", "filePath", "path", "pattern", "url", "query", "description", "prompt")


class Translator(Protocol):
    """Knows one CLI's JSON events."""

    def event(self, line: bytes) -> Iterable[StreamEvent] | None:
        """Translate one line; None says that it is no event of this CLI, hence plain text."""
        ...

    def end(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:
        """The output is over: say what is missing."""
        ...


class LineDecoder:
    """Feeds lines to a translator, and gives what it does not know as text."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._lines = LineCutter()
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._speaking = False

    def feed(self, chunk: bytes) -> Iterator[StreamEvent]:
        """Take the next bytes of standard output."""
        yield from self._translate(self._lines.feed(chunk))

    def pause(self) -> Iterator[StreamEvent]:
        """Give the held beginning of a plain line."""
        yield from self._translate(self._lines.pending_text())

    def finish(self, stderr: str, side: str = "") -> Iterator[StreamEvent]:
        """Give what is left."""
        yield from self._translate(self._lines.finish())
        yield from self._hush()
        yield from self._translator.end(stderr, side)

    def _translate(self, lines: Iterable[Line]) -> Iterator[StreamEvent]:
        """Translate lines; neighbouring lines of text become one message, or a gigabyte makes millions of them."""
        text: list[str] = []
        for line in lines:
            events = self._translator.event(line.data) if line.ended and line.data[:1] == b"{" else None
            if events is None:
                text.append(self._utf8.decode(line.data + b"\n" if line.ended else line.data))
                continue
            yield from self._say(text)
            yield from self._hush()
            yield from events
        yield from self._say(text)

    def _say(self, text: list[str]) -> Iterator[StreamEvent]:
        said = "".join(text)
        text.clear()
        if said:
            self._speaking = True
            yield Message(text=said, partial=True)

    def _hush(self) -> Iterator[StreamEvent]:
        """End the plain text that was going on."""
        if self._speaking:
            self._speaking = False
            yield Message(text="")


_Event = TypeVar("_Event")
_Event_contra = TypeVar("_Event_contra", contravariant=True)


class Ending(NamedTuple):
    """What there is besides the output, once it is over."""

    stderr: str = ""
    side: str = ""
    json: bool = False
    """Whether any JSON event was seen; a CLI that fails early, or in text mode, prints none."""


class Events(Protocol[_Event_contra]):
    """Knows what one CLI's events mean, once they are read."""

    def take(self, event: _Event_contra) -> Iterable[StreamEvent]:
        """Translate one event."""
        ...

    def end(self, ending: Ending) -> Iterable[StreamEvent]:
        """The output is over: say what is missing."""
        ...


class JsonTranslator(Generic[_Event]):
    """Reads JSON lines into one CLI's own event type. Events of a shape that it does not know are passed over."""

    def __init__(self, kind: type[_Event], events: Events[_Event], *, skip: tuple[bytes, ...] = ()) -> None:
        self._decode = msgspec.json.Decoder(kind)
        self._events = events
        self._skip = skip
        self._seen = False

    def event(self, line: bytes) -> Iterable[StreamEvent] | None:
        """Translate one line; a line that begins like one to skip is not even parsed."""
        if self._skip and line.startswith(self._skip):
            self._seen = True
            return ()
        try:
            found = self._decode.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if not is_event(line):
                return None
            self._seen = True
            return ()
        self._seen = True
        return self._events.take(found)

    def end(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:
        """The output is over."""
        return self._events.end(Ending(stderr, side, self._seen))


class PlainText:
    """The translator of a CLI without JSON: every line is the assistant's."""

    def event(self, line: bytes) -> None:  # noqa: ARG002 - the protocol's signature
        """No line is an event."""
        return

    def end(self, stderr: str, side: str = "") -> Iterable[StreamEvent]:  # noqa: ARG002 - the protocol's signature
        """Nothing can be missing."""
        return ()


def summarise(arguments: object) -> str:
    """Return the one thing that tells a tool call from others: its command, its file, its pattern."""
    if not isinstance(arguments, Mapping):
        return ""
    for key in _SPEAKING_KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return one_line(value, 160)
    return one_line(" ".join(str(value) for value in arguments.values() if isinstance(value, str)), 160)


def as_text(value: object) -> str:
    """Return a tool result's content, whichever of the shapes in use it has."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(as_text(part) for part in value)
    if isinstance(value, Mapping):
        return as_text(value.get("text", ""))
    return "" if value is None else str(value)


def uncached(total: int | None, cached: int | None) -> int | None:
    """Return the tokens that were really sent, for a CLI that counts cached ones among them."""
    return None if total is None else max(0, total - (cached or 0))


def is_event(line: bytes) -> bool:
    """Whether a line is a JSON object with a type, though perhaps of a shape that we do not know."""
    try:
        found: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("type"), str)
