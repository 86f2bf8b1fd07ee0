"""One loop's folder: its state, its history, its journal, its context and its logs.

`state.json` is replaced as a whole; the other files only grow. With git, the growing files are also hard-linked under
the git common directory, so that the folder can be restored after an agent's `git clean -fdx`.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from spool.decoders import decoded
from spool.domain.agent.stream import Usage
from spool.domain.loop.plan_memory import loop_in
from spool.domain.loop.state import IterationRecord, LoopState, UnfinishedIteration, unfinished
from spool.domain.loop.summary import SCHEMA
from spool.errors import RemovedTree, StateError, UnreadableState
from spool.host.state import files
from spool.host.state.journal import usage_of
from spool.host.state.records import encoded
from spool.nofollow import Unreadable, make_folder, read_file

_Record = TypeVar("_Record", LoopState, IterationRecord)
_RECORDS = ("history.jsonl", "journal.jsonl")
_CONTEXT = "context.md"
_GROWING = (*_RECORDS, _CONTEXT)
_LOOP_FILES = ("state.json", "history.jsonl", "journal.jsonl", "logs")
_DRAFT = ".link.tmp"
_DONE = "done-by-hand"
_CONTEXT_S = 10.0
"""The longest try to add a note while an agent removes the folder."""
_CANNOT_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class StateFolder:
    """One loop's folder on disk."""

    def __init__(self, path: Path, *, mirror: Path | None = None) -> None:
        self.path = path
        self._mirror = mirror
        self._root = path.parents[3]
        self._ground: tuple[int, bool] | None = None
        """The project's directory as a run found it: its inode, and whether git was there."""
        self._kept: tuple[tuple[int, int], ...] | None = None
        """The files as `keep` left them."""

    @property
    def journal(self) -> Path:
        """The event journal."""
        return self.path / "journal.jsonl"

    @property
    def logs(self) -> Path:
        """The folder with the prompt and the raw output of each iteration."""
        return self.path / "logs"

    @property
    def _state(self) -> Path:
        return self.path / "state.json"

    @property
    def _history(self) -> Path:
        return self.path / "history.jsonl"

    @property
    def _context(self) -> Path:
        return self.path / _CONTEXT

    def prepare(self) -> None:
        """Create the folder, hide it from git without touching the user's .gitignore, and restore missing files."""
        self.refuse_removed()
        with files.naming(self.path):
            make_folder(self.path)
        hide_from_git(self.path.parent.parent)
        if self._mirror is not None:
            make_folder(self._mirror)
            for name in (*_GROWING, "state.json"):
                _restore(self._mirror / name, self.path / name)

    def refuse_removed(self) -> None:
        """Raise if the project's directory was removed since `prepare`, also if an agent has made it anew."""
        now = _ground(self._root)
        was, self._ground = self._ground, self._ground or now
        # The inode alone proves nothing: on some network file systems it changes.
        if now is None or (was is not None and now[0] != was[0] and was[1] and not now[1]):
            raise RemovedTree(f"{self._root} was removed while its loop was running")

    def load(self) -> LoopState | None:
        """Return the state; None if there is none. Unreadable state is an error, never a default."""
        try:
            data = read_file(self._state)
        except FileNotFoundError:
            return None
        except Unreadable as error:
            raise StateError(str(error.strerror)) from None
        return state_in(data, self._state)

    def of_run(self, run_id: str) -> LoopState | None:
        """Return the state if it is this run's; None if it is another's, missing or unreadable."""
        with suppress(StateError, OSError):
            state = self.load()
            return state if state is not None and state.run_id == run_id else None
        return None

    def set_aside(self) -> Path:
        """Rename an unreadable state for later inspection, and return its new path."""
        number = 1
        while (aside := self.path / f"state.json.unreadable-{number}").exists():
            number += 1
        self._state.rename(aside)
        return aside

    def save(self, state: LoopState) -> None:
        """Replace the state durably; restore the folder if it was removed."""
        data = msgspec.json.format(encoded(state), indent=2) + b"\n"
        self._repair()
        files.replace_file(self._state, data)
        if self._mirror is not None:
            self._copy_to_mirror(data)

    def append(self, record: IterationRecord) -> None:
        """Append an iteration to the history durably."""
        self._repair()
        files.append_line(self._history, encoded(record))
        self.link()

    def link(self) -> None:
        """Hard-link the growing files into the mirror."""
        if self._mirror is None:
            return
        for name in _GROWING:
            # Without a link, for example across file systems, there is no restore; the loop itself still works.
            with suppress(OSError):
                if (self._mirror / name).exists() and (self.path / name).samefile(self._mirror / name):
                    continue
                # A note that is just being written is in the mirror first, and linked by its writer.
                with self._writing_context(fcntl.LOCK_EX | fcntl.LOCK_NB):
                    _link(self.path / name, self._mirror / name)

    def keep(self) -> None:
        """Restore the folder while an agent runs: it may call `git clean` in the first minute of two hours."""
        if self._kept is not None and self._links() == self._kept:
            return
        self._repair()
        self.link()
        self._kept = self._links()

    def _links(self) -> tuple[tuple[int, int], ...]:
        """Return inode and number of links of the project's directory and of each growing file; zeros for a lost one.

        A file with two names that lost either has one link: four system calls say that there is nothing to restore.
        """
        found = []
        for path in (self._root, *(self.path / name for name in _GROWING)):
            try:
                status = os.lstat(path)
                found.append((status.st_ino, status.st_nlink if path is not self._root else 0))
            except OSError:
                found.append((0, 0))
        return tuple(found)

    def active_at(self) -> datetime | None:
        """Return when the loop last wrote an event."""
        try:
            return datetime.fromtimestamp(self.journal.stat().st_mtime, UTC)
        except OSError:
            return None

    def history(self, last: int | None = None) -> list[IterationRecord]:
        """Return the recorded iterations, or the last ones."""
        lines = files.read_lines(self._history) if last is None else files.last_lines(self._history, last)
        return history_in(lines)

    def recover(self, state: LoopState | None, *, now: datetime) -> UnfinishedIteration | None:
        """Return the iteration in which a runner died, if any. Call it before writing, as the only writer."""
        files.remove_temporaries(self.path)
        last = next(iter(self.history(last=1)), None)
        if state is None:
            return None
        used = usage_of(self.journal, state.in_flight.iteration) if state.in_flight else Usage()
        return unfinished(state, last, now=min(now, self._last_sign(state) or now), used=used)

    def _last_sign(self, state: LoopState) -> datetime | None:
        """Return when the runner that died, or its agent, last wrote anything."""
        agent = [self.logs / f"{state.iteration:04d}.{stream}" for stream in ("out", "err")]
        written = [path.stat().st_mtime for path in (self.journal, *agent) if path.exists()]
        return datetime.fromtimestamp(max(written), UTC) if written else None

    def last_iteration(self) -> int:
        """Return the number of the last iteration in the history or the logs, whatever the state says."""
        recorded = [record.iteration for record in self.history(last=1)]
        if recorded:  # a run adds one log at a time: what a killed one began comes next
            number = recorded[0]
            while (self.logs / f"{number + 1:04d}.prompt.md").exists():
                number += 1
            return number
        logged = [int(path.name[:-10]) for path in self.logs.glob("[0-9]*.prompt.md") if path.name[:-10].isdigit()]
        return max([0, *recorded, *logged])

    def start_fresh(self, label: str) -> Path | None:
        """Set the old state, history, journal and logs aside; keep the context. Return their new folder."""
        names = [name for name in _LOOP_FILES if (self.path / name).exists()]
        if not names:
            return None
        aside = self.path / "earlier" / label
        make_folder(aside)
        if self._mirror is not None:
            for name in names:
                (self._mirror / name).unlink(missing_ok=True)
            files.sync_folder(self._mirror)
        # The state first, and each step durably: after a power cut, no state may stand without its history.
        for name in names:
            (self.path / name).rename(aside / name)
            files.sync_folder(self.path)
        return aside

    def context(self) -> str:
        """Return the notes added to the prompt so far."""
        return self._notes().decode("utf-8", "replace")

    def _notes(self) -> bytes:
        for folder in (self.path, self._mirror):
            with suppress(FileNotFoundError, NotADirectoryError):
                return read_file(folder / _CONTEXT) if folder else b""
        return b""

    def add_context(self, text: str) -> None:
        """Append to the context; no reader sees half of it, and no two writers lose each other's text."""
        note = text.rstrip("\n") + "\n"
        self._change_context(lambda old: old + note.encode("utf-8", "surrogateescape"))

    def clear_context(self) -> None:
        """Empty the context."""
        self._change_context(lambda _: b"")

    def mark_done(self) -> None:
        """Mark the work as done, for a running loop to find."""
        make_folder(self.path)
        files.replace_file(self.path / _DONE, b"")

    def marked_done(self) -> bool:
        """Whether a person has marked the work as done."""
        return (self.path / _DONE).exists()

    def unmark_done(self) -> None:
        """Remove the mark, before a new run."""
        (self.path / _DONE).unlink(missing_ok=True)

    def _change_context(self, change: Callable[[bytes], bytes]) -> None:
        """Change the context; without a mirror, begin again if an agent removes the folder meanwhile."""
        deadline = time.monotonic() + _CONTEXT_S
        while True:
            try:
                return self._write_context(change)
            except (StateError, OSError) as error:
                if not _is_removal(error) or time.monotonic() > deadline:
                    raise
                self.refuse_removed()

    def _write_context(self, change: Callable[[bytes], bytes]) -> None:
        """Write the context, first to the mirror: an agent may remove the folder at any moment."""
        self.refuse_removed()
        if self._mirror is None:
            self.prepare()
        else:
            make_folder(self._mirror)
        with self._writing_context(fcntl.LOCK_EX) as first:
            files.replace_file(first / _CONTEXT, change(self._notes()))
            if first == self._mirror:
                self._publish_context()

    def _publish_context(self) -> None:
        """Give the context its name in the folder; one that is removed just now is restored with it."""
        assert self._mirror is not None  # noqa: S101 - for the type checker; the caller checks it
        try:
            self.prepare()
            _link(self._mirror / _CONTEXT, self._context)
            files.sync_folder(self.path)
        except (StateError, OSError) as error:
            if isinstance(error, OSError) and error.errno in _CANNOT_LINK:
                files.replace_file(self._context, read_file(self._mirror / _CONTEXT))
            elif not _is_removal(error):
                raise

    @contextmanager
    def _writing_context(self, how: int) -> Iterator[Path]:
        """Keep other writers of the context away; yield the folder to which it is written first."""
        folder = self._mirror or self.path
        with files.opened(folder, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
            fcntl.flock(descriptor, how)
            yield folder

    def _repair(self) -> None:
        """Restore the folder, or a record in it, if it was removed; missing context alone does not count."""
        self.refuse_removed()
        lost = self._mirror is not None and any(
            (self._mirror / name).exists() and not (self.path / name).exists() for name in _RECORDS
        )
        if lost or not self.path.is_dir():
            self.prepare()

    def _copy_to_mirror(self, data: bytes) -> None:
        """Copy the state to the mirror, without fsync: it has to survive `git clean`, not a power cut."""
        assert self._mirror is not None  # noqa: S101 - for the type checker; the caller checks it
        temporary = self._mirror / ".state.json.tmp"
        with suppress(OSError):
            with files.opened(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
                files.write_all(descriptor, data)
            temporary.rename(self._mirror / "state.json")


def hide_from_git(folder: Path) -> None:
    """Hide a folder of state from git, by a file in it."""
    if not (folder / ".gitignore").exists():
        files.replace_file(folder / ".gitignore", b"*\n")


def _ground(root: Path) -> tuple[int, bool] | None:
    with suppress(OSError):
        return root.stat().st_ino, (root / ".git").exists()
    return None


def _link(path: Path, second: Path) -> None:
    """Give a file a second name, by a rename: if the file is removed just now, what had that name stays."""
    draft = second.with_name(_DRAFT)
    draft.unlink(missing_ok=True)
    os.link(path, draft, follow_symlinks=False)
    draft.rename(second)
    draft.unlink(missing_ok=True)  # a rename between two names of one file does nothing


def _is_removal(error: Exception) -> bool:
    return isinstance(error.__cause__ or error, FileNotFoundError | NotADirectoryError)


def _restore(kept: Path, lost: Path) -> None:
    if kept.exists() and not lost.exists():
        if kept.name == "state.json":
            # The copy was not synced; what a power cut left of it may be unreadable.
            with suppress(StateError):
                data = read_file(kept)
                _decoded(data, LoopState, kept)
                files.replace_file(lost, data)
        else:
            with suppress(FileExistsError):  # context was added meanwhile
                os.link(kept, lost, follow_symlinks=False)


def state_in(data: bytes, path: Path) -> LoopState:
    """Return the state in the content of a file; raise a StateError that names it if there is none."""
    return _decoded(data, LoopState, path)


def history_in(lines: Iterable[bytes]) -> list[IterationRecord]:
    """Return the iterations that lines of a history record; a line that is torn or garbled records none."""
    return [record for line in lines if line for record in _readable(line)]


def _decoded(data: bytes, kind: type[_Record], path: Path) -> _Record:
    try:
        head = decoded(data, _StateSchema)
    except _UNREADABLE:
        raise UnreadableState(f"{path} cannot be read") from None
    if head.schema > SCHEMA:
        raise StateError(
            f"{path} was written by a newer Spool (schema {head.schema}, this version reads {SCHEMA})",
            hint="upgrade Spool; the file is left unchanged",
        )
    try:
        return loop_in(data, kind)
    except _UNREADABLE as error:
        raise UnreadableState(f"{path} cannot be read: {error}") from None


class _StateSchema(msgspec.Struct):
    schema: int


def _readable(line: bytes) -> Iterator[IterationRecord]:
    """Yield the record of a line; skip a torn one, which stays in the file."""
    with suppress(*_UNREADABLE):
        yield decoded(line, IterationRecord)
