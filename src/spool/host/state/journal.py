"""The append-only log of events, one JSON object per line. The runner writes it; every view reads it."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from pathlib import Path

import msgspec

from spool.decoders import Decoder, decoder_of
from spool.domain.agent.stream import Message, Usage, UsageSoFar
from spool.domain.loop.events import AgentEvent, Event, IterationEnded, StoryEvent, said_in
from spool.domain.text.plain_text import clean, is_stretched
from spool.host.state.files import naming, sync_folder, write_all
from spool.host.state.records import encoded
from spool.nofollow import LARGEST, open_file

READ = 1 << 16
"""About 200 events, which take 0.5 ms to read and decode."""
PAGE = 1 << 17
"""Bytes of a page: about 400 events."""
LONGEST = 1 << 23
FAR = 1 << 20
"""Bytes that are read in less than a frame."""
_MANY = 1 << 18
_LONG_READ = 1 << 18
"""The next read for a longer event: an agent's output may have 256 KiB."""
_LONG_TEXT = 1 << 14
"""Bytes of a text that is worth a read of its own behind it, to be passed over without a copy."""
_TEXTS = (b'"event":{"kind":"message"', b'"event":{"kind":"tool_result"')
_HEAD = 400
"""Bytes of a line in which it says whose event it is; what stands in a text has its quotes escaped."""
_TAIL = 1 << 22


class JournalWriter:
    """Stamps events and appends them."""

    def __init__(self, path: Path, *, run_id: str, now: Callable[[], datetime]) -> None:
        new = not path.exists()
        with naming(path):
            self._descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            if new:
                sync_folder(path.parent)
        self._path = path
        self._run_id = run_id
        self._now = now
        self._seq = 0
        self.offset = os.fstat(self._descriptor).st_size
        # A crash may have torn the last line; ending it loses only that line.
        self._torn = self.offset > 0 and os.pread(self._descriptor, 1, self.offset - 1) != b"\n"

    def emit(self, event: Event) -> None:
        """Append one event; readers see it immediately."""
        self._seq += 1
        stamped = msgspec.structs.replace(event, at=self._now(), seq=self._seq, run_id=self._run_id)
        line = (b"\n" if self._torn else b"") + _unstretched(stamped) + b"\n"
        self._torn = True  # until the whole line is written: a full disk may take half of it
        with naming(self._path):
            write_all(self._descriptor, line)
        self._torn = False

    def has_ended(self, iteration: int) -> bool:
        """Whether the last 4 MiB of events include the end of an iteration."""
        return any(
            isinstance(event, IterationEnded) and event.record.iteration == iteration
            for event in _last_events(self._descriptor)
        )

    def close(self) -> None:
        """Sync the journal to disk and close it."""
        try:
            with naming(self._path):
                os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)


def _unstretched(event: Event) -> bytes:
    """Return an event as JSON; a message that is mostly control characters without them.

    No face shows them and the log keeps them, but in JSON an agent's NUL bytes would fill the disk six times as fast.
    """
    line, said = encoded(event), said_in(event)
    if isinstance(said, Message) and is_stretched(said.text, len(line)):
        cleaned = msgspec.structs.replace(said, text=clean(said.text))
        return encoded(msgspec.structs.replace(event, event=cleaned))
    return line


class JournalEntry(msgspec.Struct, frozen=True):
    """An event, and its place in the journal."""

    start: int
    stop: int
    event: Event


class JournalPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some neighbouring events of a journal."""

    journal: int
    """Identifies the file: a fresh run begins another one."""
    start: int
    stop: int
    size: int
    """The size of the journal when it was read."""
    rows: tuple[JournalEntry, ...] = ()


class JournalReader:
    """Reads a journal: what was added since the last call, or a page around any place.

    Without `text` it passes over the agent's messages and tool results.
    """

    def __init__(self, path: Path, *, offset: int = 0, text: bool = True) -> None:
        self._descriptor = open_file(path, os.O_RDONLY)
        self.offset = offset
        self._text = text
        self._in_text = False
        """Whether the offset is inside a text that is passed over."""

    @property
    def size(self) -> int:
        """The bytes that are written by now."""
        return os.fstat(self._descriptor).st_size

    def read(self) -> Iterator[Event]:
        """Yield the events written since the last call; skip torn and unknown lines."""
        end = self.size  # an agent may write faster than this reads
        while self.offset < end and (data := self._next()):
            self.offset += len(data)
            for line in data.split(b"\n"):
                if self._text or not is_text(line):
                    yield from readable(line)

    def read_some(self) -> list[JournalEntry]:
        """Return the next events, about 1,000 while much is left; none at the end of what is written."""
        while True:
            start = self.offset
            data = self._next(_MANY if self.size - start > FAR else READ)
            self.offset += len(data)
            if (rows := list(_rows_in(data, start))) or not data:
                return rows  # lines that this version does not know are skipped without waiting

    def between(self, start: int, stop: int) -> list[JournalEntry]:
        """Return the events between two offsets."""
        return list(_rows_in(os.pread(self._descriptor, stop - start, start), start))

    def page(self, *, before: int | None = None, at: int | None = None) -> JournalPage:
        """Return the events from a place on, those before a place, or the last ones.

        A page is bounded in bytes, whatever the length of the journal; a line longer than `LONGEST` is not read.
        """
        found = os.fstat(self._descriptor)
        size = found.st_size
        if at is None:
            start, data = self._before(size if before is None else min(max(0, before), size))
        else:
            start, data = self._after(at) if 0 <= at <= size else (size, b"")
        rows = tuple(_rows_in(data, start))
        return JournalPage(journal=found.st_ino, start=start, stop=start + len(data), size=size, rows=rows)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _next(self, most: int = READ) -> bytes:
        """Return the next whole lines, after a text that is passed over."""
        if self._text:
            return _whole_lines(self._descriptor, self.offset, most=most)
        while data := os.pread(self._descriptor, READ, self.offset):
            first = data.find(b"\n") + 1
            is_long = not 0 < first < _LONG_TEXT
            if not self._in_text and not (is_long and is_text(data)):
                return data[: data.rfind(b"\n") + 1] or _whole_lines(self._descriptor, self.offset)
            self._in_text = not first
            self.offset += first or len(data)
        return b""

    def _after(self, start: int) -> tuple[int, bytes]:
        """Return whole lines from a place on; what follows of a line that is too long is no event, and is skipped."""
        data = _whole_lines(self._descriptor, start, most=PAGE, longest=LONGEST)
        return (start, data) if data or self.size - start < LONGEST else (start + LONGEST, data)

    def _before(self, stop: int) -> tuple[int, bytes]:
        """Return the whole lines that end before a place; the line that it cuts is left out."""
        length = PAGE
        while True:
            start = max(0, stop - length)
            data = os.pread(self._descriptor, stop - start, start)
            first = 0 if start == 0 else data.find(b"\n") + 1
            last = data.rfind(b"\n") + 1
            if start == 0 or first < last:
                return start + first, data[first:last]
            if length >= LONGEST:
                return start, b""
            length *= 2


def usage_of(path: Path, iteration: int) -> Usage:
    """Return what the agent of an iteration had reported last, in the last 4 MiB of events."""
    try:
        descriptor = open_file(path, os.O_RDONLY)
    except OSError:
        return Usage()
    try:
        used = Usage()
        for event in _last_events(descriptor):
            match event:
                case AgentEvent(event=UsageSoFar(usage=usage)) | StoryEvent(event=UsageSoFar(usage=usage)):
                    used = usage if event.iteration == iteration else used
                case _:
                    pass
        return used
    finally:
        os.close(descriptor)


def _last_events(descriptor: int) -> Iterator[Event]:
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, _TAIL, max(0, size - _TAIL))
    for line in tail.split(b"\n"):
        yield from readable(line)


def _rows_in(data: bytes, start: int) -> Iterator[JournalEntry]:
    """Yield the events of whole lines; `start` is where the first one stands in the journal."""
    for line in data.split(b"\n")[:-1]:
        stop = start + len(line) + 1
        for event in readable(line):
            yield JournalEntry(start, stop, event)
        start = stop


def _whole_lines(descriptor: int, offset: int, *, most: int = READ, longest: int = LARGEST) -> bytes:
    """Read from an offset to the end of the last complete line; an event may be longer than one read."""
    data = os.pread(descriptor, most, offset)
    while data and b"\n" not in data:
        more = os.pread(descriptor, max(_LONG_READ, len(data)), offset + len(data))
        if not more or len(data) > longest:
            return b""
        data += more
    return data[: data.rfind(b"\n") + 1]


def is_text(line: bytes) -> bool:
    """Whether a line, of which the start is enough, is a message or a tool's result."""
    return any(line.find(mark, 0, _HEAD) >= 0 for mark in _TEXTS)


def readable(line: bytes) -> Iterator[Event]:
    """Yield the event of a line; nothing for a torn one, or one of a newer version."""
    try:  # not suppress, which took longer than decoding
        event = _decoder().decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    yield event


@cache
def _decoder() -> Decoder[Event]:
    """Return the decoder of all events; making it takes 1 ms, and a quick command reads none."""
    return decoder_of(Event)
