"""Splits an agent's output into lines with bounded memory.

Hand-written, because no library does both: a JSON line of 50 MB must not be buffered (its long strings are cut in the
middle), and a gigabyte without a newline must come out in pieces.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from spool.decoders import decoded

WHOLE_LINE = 4 << 20
"""The largest line in bytes that stays whole; the largest real one seen was a 3 MB answer."""
_TEXT_PIECE = 1 << 16
_KEEP = 1 << 18
_QUOTE = 0x22
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)")
_RAW_CONTROLS = bytes.maketrans(bytes(range(32)), b" " * 32)


class OutputLine(NamedTuple):
    """A line without its newline, or a piece of one that is too long or too slow to buffer."""

    data: bytes
    ended: bool
    whole: bool = True


class LineCutter:
    """Splits chunks of any size into lines; a line that starts with a brace stays whole.

    Without `json`, the lines of one chunk come together. Of a long line that starts with one of `skip` only the start
    is kept: pi repeats its whole answer, megabyte by megabyte.
    """

    def __init__(self, *, json: bool = True, skip: tuple[bytes, ...] = ()) -> None:
        self._json = json
        self._skip = skip
        self._held = bytearray()
        self._begun = False
        """Whether the start of the current line was already yielded."""
        self._shrinker: JsonShrinker | _LineStart | None = None

    def feed(self, chunk: bytes) -> Iterator[OutputLine]:
        """Take the next bytes; yield the lines that they complete."""
        if not self._json:
            yield from self._feed_text(chunk)
            return
        *lines, last = chunk.split(b"\n")
        if lines:
            yield from self._hold(lines[0])
            yield self._complete()
        for line in lines[1:]:
            yield OutputLine(line, ended=True)
        yield from self._hold(last)

    def _feed_text(self, chunk: bytes) -> Iterator[OutputLine]:
        """Yield all lines that a chunk completes as one piece, and copy only what goes over from chunk to chunk."""
        end = chunk.rfind(b"\n")
        if end >= 0:
            whole, self._begun = not self._begun, False
            yield OutputLine(self._release() + chunk[:end], ended=True, whole=whole)
        yield from self._hold(chunk[end + 1 :])

    def pending_text(self) -> Iterator[OutputLine]:
        """Yield the buffered part of a plain line; an agent may print its promise without a newline and wait."""
        if self._held and not self._looks_like_json():
            yield self._piece()

    def finish(self) -> Iterator[OutputLine]:
        """Yield the last line, if it has no newline."""
        if self._held or self._begun or self._shrinker is not None:
            yield self._complete()

    def _hold(self, data: bytes) -> Iterator[OutputLine]:
        if self._shrinker is not None:
            self._shrinker.feed(data)
            return
        self._held += data
        if self._looks_like_json():
            if len(self._held) > _TEXT_PIECE and self._held.startswith(self._skip):
                self._shrinker = _LineStart(bytes(self._held[:_TEXT_PIECE]))
                self._held.clear()
            elif len(self._held) > WHOLE_LINE:
                self._shrinker = JsonShrinker()
                for start in range(0, len(self._held), _TEXT_PIECE):
                    self._shrinker.feed(bytes(self._held[start : start + _TEXT_PIECE]))
                self._held.clear()
        elif len(self._held) > _TEXT_PIECE:
            yield self._piece()

    def _piece(self) -> OutputLine:
        self._begun = True
        return OutputLine(self._release(), ended=False, whole=False)

    def _complete(self) -> OutputLine:
        whole, self._begun = not self._begun, False
        if self._shrinker is None:
            return OutputLine(self._release(), ended=True, whole=whole)
        shrunk, self._shrinker = self._shrinker.finish(), None
        return OutputLine(shrunk, ended=True)

    def _release(self) -> bytes:
        data = bytes(self._held)
        self._held.clear()
        return data

    def _looks_like_json(self) -> bool:
        return self._json and not self._begun and self._held[:1] == b"{"


class _LineStart:
    """Keeps the start of a line and drops the rest."""

    def __init__(self, beginning: bytes) -> None:
        self._beginning = beginning

    def feed(self, data: bytes) -> None:
        pass

    def finish(self) -> bytes:
        return self._beginning


class JsonShrinker:
    """Copies streamed JSON, but keeps only the head and the tail of very long strings.

    A line that is still too long is cut: it is then neither JSON nor a promise.
    """

    def __init__(self) -> None:
        self._out = bytearray()
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._in_string = False
        self._escaped = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the line."""
        if not data:
            return
        # Mask all escaped quotes with `replace`, at the speed of C; a loop over them costs 50 MB/s.
        seen = (b"_" + data[1:] if self._escaped else data).replace(b"\\\\", b"__").replace(b'\\"', b"__")
        self._escaped = seen.endswith(b"\\")
        position = 0
        while position < len(data) and len(self._out) <= WHOLE_LINE:
            quote = seen.find(b'"', position)
            end = len(data) if quote < 0 else quote
            if self._in_string:
                self._keep(data[position:end])
            else:
                self._out += data[position:end]
            if quote >= 0:
                if self._in_string:
                    self._close_string()
                else:
                    self._in_string = True
                self._out.append(_QUOTE)
            position = end + 1

    def finish(self) -> bytes:
        """Return the shrunk line."""
        if self._in_string:
            self._close_string()
        return bytes(self._out[:WHOLE_LINE])

    def _keep(self, content: bytes) -> None:
        room = _KEEP - len(self._head)
        if room > 0:
            self._head += content[:room]
            content = content[room:]
        self._tail += content
        if len(self._tail) > 2 * _KEEP:
            self._dropped += len(self._tail) - _KEEP
            del self._tail[:-_KEEP]

    def _close_string(self) -> None:
        if self._dropped:
            dropped = self._dropped + len(self._tail) - _KEEP
            head, tail = _whole_head(mended(self._head)), _whole_tail(mended(self._tail[-_KEEP:]))
            self._out += head + f" … {dropped} bytes left out … ".encode() + tail
        else:
            self._out += self._head + self._tail
        self._head.clear()
        self._tail.clear()
        self._dropped = 0
        self._in_string = False


def _whole_head(data: bytes) -> bytes:
    """Return data without an escape that is cut at its end; the longest escape has 12 bytes."""
    return next((data[: len(data) - cut] for cut in range(13) if _is_string(data[: len(data) - cut])), b"")


def _whole_tail(data: bytes) -> bytes:
    return next((data[cut:] for cut in range(13) if _is_string(data[cut:])), b"")


def mended(line: bytes | bytearray) -> bytes:
    """Return JSON that a strict parser accepts.

    JavaScript cuts strings between the two halves of an emoji, and tools print any bytes; parsers reject both.
    """
    if not line.isascii():
        try:
            line.decode()
        except UnicodeDecodeError:
            line = line.decode("utf-8", "replace").encode()
    if b"\\ud" in line or b"\\uD" in line:
        line = _ESCAPE.sub(lambda escape: rb"\ufffd" if escape["half"] else escape[0], line)
    return bytes(line.translate(_RAW_CONTROLS))


def _is_string(data: bytes) -> bool:
    try:
        decoded(b'"' + data + b'"', str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
