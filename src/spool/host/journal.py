"""The append-only log of events, one JSON object a line. The runner writes it; every view is a reader of it."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from spool.domain.events import Event
from spool.engine.ports import Clock
from spool.host.files import FILE_MODE, write_all

_READ = 1 << 18
_ENCODE = msgspec.json.Encoder()
_DECODE: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class JournalWriter:
    """Stamps events and appends them."""

    def __init__(self, path: Path, *, run_id: str, clock: Clock) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        self._run_id = run_id
        self._clock = clock
        self._seq = 0
        self.offset = os.fstat(self._descriptor).st_size
        if self.offset and os.pread(self._descriptor, 1, self.offset - 1) != b"\n":
            write_all(self._descriptor, b"\n")  # a crash tore the last line; end it, so that only it is lost
            self.offset += 1

    def emit(self, event: Event) -> None:
        """Write one event; readers see it at once."""
        self._seq += 1
        stamped = msgspec.structs.replace(event, at=self._clock.now(), seq=self._seq, run_id=self._run_id)
        write_all(self._descriptor, _ENCODE.encode(stamped) + b"\n")

    def close(self) -> None:
        """Make what was written durable."""
        os.fsync(self._descriptor)
        os.close(self._descriptor)


class JournalReader:
    """Reads events from an offset on, as far as they are written."""

    def __init__(self, path: Path, *, offset: int = 0) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._offset = offset
        self._rest: list[bytes] = []

    def read(self) -> Iterator[Event]:
        """Give the events that have been written since the last call; a torn or unknown line is passed over."""
        for line in self.lines():
            try:
                yield _DECODE.decode(line)
            except msgspec.MsgspecError:
                continue

    def lines(self) -> Iterator[bytes]:
        """Give the finished lines that have been written since the last call."""
        while chunk := os.pread(self._descriptor, _READ, self._offset):
            self._offset += len(chunk)
            *finished, last = chunk.split(b"\n")
            for line in finished:
                self._rest.append(line)
                whole = b"".join(self._rest)
                self._rest.clear()
                if whole:
                    yield whole
            if last:
                self._rest.append(last)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)
