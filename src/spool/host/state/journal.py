"""The append-only log of events, one JSON object per line. The runner writes it; every view reads it."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from pathlib import Path

import msgspec

from spool.decoders import Decoder, decoder_of
from spool.domain.agent.stream import Message, Usage, UsageSoFar
from spool.domain.loop.events import AgentEvent, Event, IterationEnded, StoryEvent
from spool.domain.text.plain_text import clean, is_stretched
from spool.host.state.files import naming, sync_folder, write_all
from spool.host.state.records import encoded
from spool.nofollow import LARGEST, open_file

READ = 1 << 16
"""About 200 events, which take 0.5 ms to read and decode."""
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
    line = encoded(event)
    match event:
        case AgentEvent(event=Message() as said) | StoryEvent(event=Message() as said):
            if is_stretched(said.text, len(line)):
                cleaned = msgspec.structs.replace(said, text=clean(said.text))
                return encoded(msgspec.structs.replace(event, event=cleaned))
        case _:
            pass
    return line


class JournalReader:
    """Reads complete events from an offset on; without `text`, all but the agent's messages and tool results."""

    def __init__(self, path: Path, *, offset: int = 0, text: bool = True) -> None:
        self._descriptor = open_file(path, os.O_RDONLY)
        self._offset = offset
        self._text = text
        self._in_text = False
        """Whether the offset is inside a text that is passed over."""

    def read(self) -> Iterator[Event]:
        """Yield the events written since the last call; skip torn and unknown lines."""
        end = os.fstat(self._descriptor).st_size  # an agent may write faster than this reads
        while self._offset < end and (data := self._next()):
            self._offset += len(data)
            for line in data.split(b"\n"):
                if self._text or not is_text(line):
                    yield from readable(line)

    def _next(self) -> bytes:
        """Return the next whole lines, after a text that is passed over."""
        if self._text:
            return whole_lines(self._descriptor, self._offset)
        while data := os.pread(self._descriptor, READ, self._offset):
            first = data.find(b"\n") + 1
            is_long = not 0 < first < _LONG_TEXT
            if not self._in_text and not (is_long and is_text(data)):
                return data[: data.rfind(b"\n") + 1] or whole_lines(self._descriptor, self._offset)
            self._in_text = not first
            self._offset += first or len(data)
        return b""

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


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


def whole_lines(descriptor: int, offset: int, *, most: int = READ) -> bytes:
    """Read from an offset to the end of the last complete line; an event may be longer than one read."""
    data = os.pread(descriptor, most, offset)
    while data and b"\n" not in data:
        more = os.pread(descriptor, max(_LONG_READ, len(data)), offset + len(data))
        if not more or len(data) > LARGEST:
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
