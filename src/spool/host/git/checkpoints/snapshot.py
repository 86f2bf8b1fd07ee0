"""Keeps a working tree's state beside the shadow's objects: a file for each checkpoint, beginning or attempt."""

import os
import re
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from spool.domain.loop.checkpoint import Beginning, Begun, Checkpoint, Discarded
from spool.domain.loop.summary import SCHEMA
from spool.errors import CheckpointError, StateError, UnreadableState
from spool.host.git.checkpoints.record.ignore_rules import IgnoreRules
from spool.host.git.checkpoints.record.modes import Modes
from spool.host.git.checkpoints.record.user_repository import Refs
from spool.host.git.checkpoints.restore.unfinished import Blobs, UnfinishedWork
from spool.host.state.files import replace_file, sync_folder
from spool.nofollow import WHOLE, make_folder, read_linked


class TreeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings shared by one tree's repositories."""

    home: Path
    """Shadows' folder."""
    key: str
    """The name of the working tree."""
    top: Path
    common_dir: Path
    blobs: Blobs
    timeout_s: float
    large_file_bytes: int

    def place_of(self, path: Path) -> str:
        """Return a path in a form that is still true when the repository was moved; each character is a byte."""
        sign, folder = next(one for one in self._places() if path.is_relative_to(one[1]))
        return sign + bytes(path.relative_to(folder)).decode("latin-1")

    def path_of(self, kept: str) -> Path:
        """Return the path that was kept in such a form."""
        for sign, folder in self._places():
            if kept.startswith(sign):
                return folder / os.fsdecode(kept.removeprefix(sign).encode("latin-1"))
        return Path(kept)

    def _places(self) -> tuple[tuple[str, Path], ...]:
        return (("git:", self.common_dir), ("tree:", self.top), ("root:", Path("/")))


class RepositoryPart(msgspec.Struct, frozen=True, kw_only=True):
    """One repository: the working tree's own, or one nested in it."""

    path: bytes
    """Its path in the working tree; empty for the working tree's own."""
    git_dir: str
    common_dir: str
    object_format: str
    link: bytes | None = None
    """The content of `.git` where that is a file, as in a submodule."""
    mark: str = ""
    """The id kept in a nested repository's `.git` folder: one without it is another repository."""
    tree: str
    modes: Modes
    refs: Refs
    log_size: int
    unfinished: UnfinishedWork
    ignored: list[bytes]
    """Names ignored then: they are not removed, whatever the ignore rules say later."""
    ignored_files: dict[bytes, tuple[int, bytes]]
    """Small ignored files (`.env`)."""
    left: list[bytes]
    nested: list[bytes]
    grown: list[bytes]
    """Folders that have become repositories since the checkpoint before."""
    rules: IgnoreRules | None = None
    other_logs: dict[bytes, int] = {}
    """The lengths of other working trees' HEAD logs."""
    essentials: dict[str, bytes] = {}
    """HEAD and the configuration, in case that git cannot read them any more."""
    stranger: bool = False
    """Whether another repository, or a broken one, stood in the place of the recorded one: only its files are here."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A working tree with everything in it."""

    schema: int = SCHEMA
    name: str
    change: str
    label: str
    at: datetime
    parts: list[RepositoryPart]
    warnings: tuple[str, ...] = ()
    instead: dict[bytes, str] = {}
    """For a discarded attempt: the trees that took its place."""
    instead_head: str | None = None
    files: int = 0
    ended: datetime | None = None
    """For a beginning: when what began there was accepted."""

    @property
    def top(self) -> RepositoryPart:
        """The working tree's own repository."""
        return self.parts[0]


class Snapshots:
    """The folder of snapshots of one kind."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, snapshot: Snapshot) -> None:
        """Keep a snapshot, in place of one of the same name."""
        make_folder(self._folder)
        replace_file(self._folder / snapshot.name, msgspec.msgpack.encode(snapshot))

    def load(self, name: str) -> Snapshot | None:
        """Return a snapshot; None if there is none of that name."""
        path = self._folder / name
        try:
            data = read_linked(path, most_bytes=WHOLE)
        except (FileNotFoundError, ValueError, IsADirectoryError):
            return None
        with suppress(msgspec.MsgspecError):
            if (schema := msgspec.msgpack.decode(data, type=_SnapshotSchema).schema) > SCHEMA:
                raise StateError(f"{path} was written by a newer Spool (schema {schema})", hint="upgrade Spool")
        try:
            return msgspec.msgpack.decode(data, type=Snapshot)
        except msgspec.MsgspecError as error:
            raise UnreadableState(f"the checkpoint {path} cannot be read: {error}") from None

    def names(self) -> list[str]:
        """Return the names of all snapshots here."""
        with suppress(FileNotFoundError):
            return sorted(path.name for path in self._folder.iterdir() if not path.name.startswith("."))
        return []

    def find(self, name: str) -> Snapshot:
        """Return the discarded attempt of a name, or of the beginning of one."""
        names = self.names()
        found = [name] if name in names else [one for one in names if name and one.startswith(name)]
        if len(found) > 1:
            raise CheckpointError(f"'{name}' is ambiguous: {', '.join(sorted(found))}", hint="give more of the name")
        snapshot = self.load(found[0]) if found else None
        if snapshot is None:
            raise CheckpointError(f"there is no discarded attempt '{name}'", hint="spool checkpoint list names them")
        return snapshot

    def new_name(self, owner: str, at: datetime) -> str:
        """Return a name that no snapshot here has."""
        taken = set(self.names())
        name = base = f"{owner}.{at:%Y%m%d-%H%M%S}"
        number = 1
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        return name

    def remove(self, name: str) -> None:
        """Remove a snapshot; the small ignored files in it are gone for good."""
        with suppress(FileNotFoundError):
            (self._folder / name).unlink()
            sync_folder(self._folder)


class Destination(NamedTuple):
    """The snapshot to which a restore leads, and the attempt that holds the tree before; empty if none is due."""

    target: str = ""
    attempt: str = ""


class DueRestore:
    """The file that outlives whoever restores."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Destination:
        """Return where a restore that was cut short leads."""
        with suppress(FileNotFoundError):
            return Destination(*read_linked(self._path).decode("utf-8").split("\n", 1))
        return Destination()

    def save(self, target: str, attempt: str) -> None:
        """Note that a restore begins."""
        replace_file(self._path, f"{target}\n{attempt}".encode())

    def clear(self) -> None:
        """Note that the tree is whole."""
        self._path.unlink(missing_ok=True)


class _SnapshotSchema(msgspec.Struct):
    schema: int


def slug(change: str) -> str:
    """Return a change's name as one that a file and a ref can have."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", change).strip("-")[:80]
    return plain if plain == change else f"{plain or 'change'}-{sha256(change.encode()).hexdigest()[:8]}"


def as_checkpoint(snapshot: Snapshot, *, half_reverted: bool) -> Checkpoint:
    """Return a snapshot as the checkpoint of a change."""
    return Checkpoint(
        change=snapshot.change,
        label=snapshot.label,
        saved_at=snapshot.at,
        tree=snapshot.top.tree,
        head=snapshot.top.refs.head.commit,
        warnings=snapshot.warnings,
        half_reverted=half_reverted,
    )


def as_discarded(snapshot: Snapshot) -> Discarded:
    """Return a snapshot as a discarded attempt."""
    return Discarded(
        name=snapshot.name,
        change=snapshot.change,
        label=snapshot.label,
        discarded_at=snapshot.at,
        files=snapshot.files,
        head=snapshot.top.refs.head.commit,
        warnings=snapshot.warnings,
    )


def as_begun(snapshot: Snapshot) -> Begun:
    """Return a snapshot as a beginning; what began is the end of its name."""
    return Begun(
        change=snapshot.change,
        what=Beginning(snapshot.name.rpartition(".")[2]),
        label=snapshot.label,
        began_at=snapshot.at,
        ended=snapshot.ended is not None,
    )
