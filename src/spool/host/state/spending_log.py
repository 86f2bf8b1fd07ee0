"""Logs what all loops of this user spend, one line per iteration, in one append-only file per day.

Many runners append to the file at once, each line in one write, so no lock is needed and no reader sees half a line.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from spool.decoders import decoder_of
from spool.domain.agent.stream import Usage
from spool.domain.loop.state import IterationRecord
from spool.domain.loop.summary import SCHEMA
from spool.errors import StateError
from spool.host.state.files import append_line, opened
from spool.host.state.loop_store import StateFolder
from spool.host.state.places import user_state
from spool.host.state.records import encoded
from spool.nofollow import LARGEST, make_folder


class SpendingLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line: the usage of an iteration."""

    schema: int = SCHEMA
    at: datetime
    run_id: str
    iteration: int
    project: str
    change: str
    harness: str
    model: str | None
    usage: Usage


_DECODE = decoder_of(SpendingLine)


class Peers:
    """The loops that share a budget: each has its usage in its state, which is read again when it has changed."""

    def __init__(self, folders: Sequence[str], since: datetime | None = None) -> None:
        self._since = since
        self._folders = [StateFolder(Path(folder)) for folder in folders]
        self._known: dict[Path, tuple[int, Usage]] = {}

    def usage(self) -> Usage:
        """Return their usage over all of their runs; what cannot be read counts as it was."""
        total = Usage()
        for folder in self._folders:
            total += self._usage_of(folder)
        return total

    def _usage_of(self, folder: StateFolder) -> Usage:
        stamp, usage = self._known.get(folder.path, (0, Usage()))
        with suppress(OSError, StateError):
            now = (folder.path / "state.json").stat().st_mtime_ns
            if now != stamp and (state := folder.load()) is not None:
                counts = self._since is None or state.started_at >= self._since
                usage = state.usage if counts else Usage()
                self._known[folder.path] = (now, usage)
        return usage


class SpendingFile:
    """Adds the iterations of one loop, and returns the spending of all loops today."""

    def __init__(
        self,
        *,
        project: str,
        change: str,
        now: Callable[[], datetime],
        folder: Path | None = None,
        peers: Peers | None = None,
    ) -> None:
        self._folder = folder or user_state() / "spending"
        self._peers = peers or Peers(())
        self._project = project
        self._change = change
        self._now = now
        self._path: Path | None = None
        self._offset = 0
        self._seen: set[tuple[str, int]] = set()
        self._total = Usage()

    def add(self, record: IterationRecord) -> None:
        """Append an iteration durably. A second line for the same iteration, after a crash, does not count."""
        spent = SpendingLine(
            at=record.ended_at,
            run_id=record.run_id,
            iteration=record.iteration,
            project=self._project,
            change=self._change,
            harness=record.harness,
            model=record.model,
            usage=record.usage,
        )
        try:
            make_folder(self._folder)
        except OSError as error:
            raise StateError(f"cannot write {self._folder}: {error.strerror or error}") from error
        append_line(self._today(), encoded(spent))

    def today(self) -> Usage:
        """Return the usage of all loops today, reading only what was added since the last call."""
        path = self._today()
        if path != self._path:
            self._path, self._offset, self._seen, self._total = path, 0, set(), Usage()
        try:
            with opened(path, os.O_RDONLY) as file:
                size = min(os.fstat(file).st_size - self._offset, LARGEST)
                added, _, _ = os.pread(file, max(0, size), self._offset).rpartition(b"\n")
        except FileNotFoundError:
            return self._total
        except OSError as error:
            raise StateError(f"cannot read {path}: {error.strerror or error}") from error
        if added:
            self._offset += len(added) + 1
            self._count(added)
        return self._total

    def others(self) -> Usage:
        """Return the usage of the loops that share this one's budgets."""
        return self._peers.usage()

    def _count(self, lines: bytes) -> None:
        for line in lines.split(b"\n"):
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # a torn line, or one of a newer Spool
                spent = _DECODE.decode(line)
                if (key := (spent.run_id, spent.iteration)) not in self._seen:
                    self._seen.add(key)
                    self._total += spent.usage

    def _today(self) -> Path:
        return self._folder / f"{self._now().astimezone():%Y-%m-%d}.jsonl"


class Unkept:
    """The spending of a demo or a check, which counts as no loop."""

    def others(self) -> Usage:
        """Return nothing spent."""
        return Usage()

    def add(self, record: IterationRecord) -> None:
        """Do nothing."""

    def today(self) -> Usage:
        """Return nothing spent."""
        return Usage()
