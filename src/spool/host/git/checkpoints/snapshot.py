"""What is kept of a working tree beside the objects in the shadow: a file for each checkpoint or discarded attempt."""

import re
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from spool.domain.loop import SCHEMA
from spool.errors import StateError, UnreadableState
from spool.host.git.checkpoints.ignore_rules import IgnoreRules
from spool.host.git.checkpoints.modes import Modes
from spool.host.git.checkpoints.unfinished import Unfinished
from spool.host.git.checkpoints.user_repository import Refs
from spool.host.state.files import replace_file, sync_folder
from spool.nofollow import make_folder


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One repository: the working tree's own, or one nested in it."""

    path: bytes
    """Where it is in the working tree; nothing for the working tree's own."""
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
    unfinished: Unfinished
    ignored: list[bytes]
    """What was ignored then: it is not removed, whatever the ignore rules say later."""
    ignored_files: dict[bytes, tuple[int, bytes]]
    """Small ignored files, such as `.env`."""
    left: list[bytes]
    nested: list[bytes]
    grown: list[bytes]
    """Folders that have become repositories since the checkpoint before."""
    rules: IgnoreRules | None = None
    other_logs: dict[bytes, int] = {}
    """How long the logs of other working trees' HEADs were."""
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
    parts: list[Part]
    warnings: tuple[str, ...] = ()
    instead: dict[bytes, str] = {}
    """For a discarded attempt: the trees that took its place."""
    instead_head: str | None = None
    files: int = 0

    @property
    def top(self) -> Part:
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
            data = path.read_bytes()
        except (FileNotFoundError, ValueError, IsADirectoryError):
            return None
        with suppress(msgspec.MsgspecError):
            if (schema := msgspec.msgpack.decode(data, type=_Head).schema) > SCHEMA:
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

    def remove(self, name: str) -> None:
        """Let go of a snapshot; the small ignored files in it are gone for good."""
        with suppress(FileNotFoundError):
            (self._folder / name).unlink()
            sync_folder(self._folder)


class _Head(msgspec.Struct):
    schema: int


def slug(change: str) -> str:
    """Return a change's name as one that a file and a ref can have."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", change).strip("-")[:80]
    return plain if plain == change else f"{plain or 'change'}-{sha256(change.encode()).hexdigest()[:8]}"
