"""Identifies a working tree, whatever its path, by an id in its git directory.

A clone that was moved finds its checkpoint again. A copy of it gets an id of its own as long as the original exists.
"""

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.errors import CheckpointError, StateError
from spool.host.git.leading_out import LEADING_OUT_HINT, leads_out
from spool.host.git.repository import Repository, git_dir_of
from spool.host.state.files import replace_file
from spool.nofollow import make_folder, read_linked

_CLAIMED = "claimed"
"""A file in a shadow whose working tree has an id: a later one at the same path must not take it for its own."""
_MARK = "spool/nested"
_Node = tuple[int, int]


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """The id, and where its git directory and working tree were when it was written."""

    id: str
    git_dir: bytes
    git_node: _Node
    top: bytes
    top_node: _Node


class WorktreeIdentity:
    """The identity of one working tree, as it was when this object was made."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._path = repository.identity_file
        self._link = git_dir_of(repository.top)
        self._shadows = repository.spool_dir / "shadow"
        found = _read(self._path)
        self._record: _Record | None = None
        self.key = self._first_key()
        if found is not None:
            self._recognise(found)

    def claim(self) -> None:
        """Keep the id in the git directory. Called before anything is saved under it."""
        self.check()
        if self._record is None or _read(self._path) != self._record:
            record = self._record or self._here(self.key)
            make_folder(self._path.parent)
            replace_file(self._path, msgspec.msgpack.encode(record))
            self._record = record  # not before it is there: a full disk is not a replaced git directory
            make_folder(self._shadows / self.key)
            (self._shadows / self.key / _CLAIMED).touch(mode=0o600)

    def check(self) -> None:
        """Refuse if the working tree is gone, or has another git directory than when this object was made."""
        top = self._repository.top
        if not top.is_dir():
            raise CheckpointError(f"the working tree {top} is gone; nothing was changed")
        kept = _read(self._path)
        lost = self._record is not None and (kept is None or kept.id != self._record.id)
        if lost or git_dir_of(top) != self._link or not self._repository.git_dir.is_dir():
            raise CheckpointError(
                f"the git directory {self._repository.git_dir} was removed or replaced; nothing was changed",
                hint="the files in the working tree are as they were left; " + self._rest(lost=lost),
            )
        if self._repository.is_clone and (path := leads_out(self._repository.git_dir)):
            raise CheckpointError(f"the clone's git directory leads out of the clone: {path}", hint=LEADING_OUT_HINT)

    def _rest(self, *, lost: bool) -> str:
        """Return what is left of the checkpoints: an agent may have replaced only the `.git` that names them."""
        if lost or self._record is None or not self._repository.git_dir.is_dir():
            return "its checkpoints are gone with it"
        git_dir, link = self._repository.git_dir, self._repository.top / ".git"
        return f"its checkpoints are kept in {git_dir}: start again once {link} leads there"

    def _recognise(self, found: _Record) -> None:
        """Decide whether a record is this working tree's own, moved or not, or was copied from another."""
        here = self._here(found.id)
        if _is_original_elsewhere(found, here):
            self._record, self.key = None, secrets.token_hex(8)
            self._record = self._here(self.key)
            self._rewrite()
        elif _has_another_tree(found, here):
            self.key = _digest(f"{found.id} {here.top_node}")
            self._record = found
        else:
            self._record, self.key = here, found.id

    def _rewrite(self) -> None:
        with suppress(OSError):
            replace_file(self._path, msgspec.msgpack.encode(self._record))

    def _first_key(self) -> str:
        """Return the id for a working tree without one; the same for whoever asks first."""
        key = _digest(str(self._repository.top))
        if (self._shadows / key / _CLAIMED).exists():
            return _digest(f"{self._repository.top} {_node(self._repository.git_dir)}")
        return key

    def _here(self, key: str) -> _Record:
        git_dir, top = self._repository.git_dir, self._repository.top
        return _Record(id=key, git_dir=bytes(git_dir), git_node=_node(git_dir), top=bytes(top), top_node=_node(top))


def nested_key(key: str, path: bytes) -> str:
    """Return the name under which a repository nested in a working tree is kept."""
    return hashlib.sha256(key.encode() + b"\0" + path).hexdigest()[:16]


def mark_of(git_dir: Path) -> str:
    """Return the id of a nested repository; empty without one.

    Not its inode: ext4 gives that of a removed `.git` to the next folder that is made.
    """
    with suppress(OSError):
        return read_linked(git_dir / _MARK)[:64].decode("latin-1")
    return ""


def put_mark(git_dir: Path, mark: str) -> str:
    """Keep an id in a nested repository; return the one that it has then, empty where it cannot be written."""
    with suppress(OSError, StateError):
        make_folder((git_dir / _MARK).parent)
        replace_file(git_dir / _MARK, mark.encode("latin-1"))
    return mark_of(git_dir)


def new_mark() -> str:
    """Return an id that no repository has."""
    return secrets.token_hex(8)


def _is_original_elsewhere(found: _Record, here: _Record) -> bool:
    """Whether the git directory that a record was written in still is where it was, and is not this one."""
    if found.git_dir == here.git_dir or found.git_node == here.git_node:
        return False
    original = Path(os.fsdecode(found.git_dir))
    there = _read(_record_path(original))
    return there is not None and there.id == found.id and _node(original) == found.git_node


def _has_another_tree(found: _Record, here: _Record) -> bool:
    """Whether a git directory serves another folder still: a linked working tree was copied with its `.git` file."""
    if found.top == here.top or found.top_node == here.top_node:
        return False
    other = Path(os.fsdecode(found.top))
    return _node(other) == found.top_node and git_dir_of(other) == os.path.realpath(os.fsdecode(here.git_dir))


def _record_path(git_dir: Path) -> Path:
    return git_dir / "spool" / "worktree"


def _read(path: Path) -> _Record | None:
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.msgpack.decode(read_linked(path), type=_Record)
    return None


def _node(path: Path) -> _Node:
    with suppress(OSError):
        found = path.stat()
        return (found.st_dev, found.st_ino)
    return (0, 0)


def _digest(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:16]
