"""The user's index and half-done merges and rebases, saved and put back byte for byte."""

import hashlib
import os
import re
import stat
import time
from contextlib import suppress
from math import inf
from pathlib import Path

import msgspec

from spool.errors import CommandFailed
from spool.host.git.checkpoints.record.modes import signature
from spool.host.git.checkpoints.record.mounts import remove_folder
from spool.host.git.checkpoints.record.user_repository import UserRepository, empty_tree
from spool.host.state.files import replace_file, sync_folder
from spool.host.threads import Pulse
from spool.nofollow import WHOLE, make_folder, read_linked

_FILES = (
    "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "MERGE_AUTOSTASH", "AUTO_MERGE", "SQUASH_MSG",
    "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD",
    "BISECT_LOG", "BISECT_START", "BISECT_TERMS", "BISECT_NAMES", "BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK",
    "info/sparse-checkout", "info/exclude",
)  # fmt: skip
_FOLDERS = ("rebase-merge", "rebase-apply", "sequencer")
_OID = re.compile(rb"^(?:[0-9a-f]{64}|[0-9a-f]{40})\b", re.MULTILINE)
_OLD_S = 1
"""A restored index is dated 1970: git trusts an entry older than its index, and would hide real edits."""


_UNREADABLE = "unreadable"


class UnfinishedWork(msgspec.Struct, frozen=True, kw_only=True):
    """A git directory without refs and objects."""

    index: str | None = None
    """Under which name the bytes of the index are kept."""
    shared: dict[bytes, str] = {}
    files: dict[bytes, tuple[int, bytes]] = {}
    staged: tuple[str, ...] = ()
    """Objects that only the index names."""
    staging: str = ""
    """Differs between two staging areas, whatever their stat data."""


class Blobs:
    """Files by the hash of their content: a user's index has 10 MB for 100,000 files, mostly unchanged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, tuple[tuple[int, ...], str]] = {}

    def put_file(self, path: Path) -> str:
        """Keep a file's bytes and return their name; one that has not changed is not read again."""
        seen = signature(path)
        before, name = self._read.get(path, ((), ""))
        if seen != before or not (self._folder / name).exists():
            name = self.put(read_linked(path, most_bytes=WHOLE))
            self._read[path] = (seen, name)
        return name

    def put(self, data: bytes) -> str:
        """Keep some bytes and return their name."""
        name = hashlib.sha256(data).hexdigest()
        if not (self._folder / name).exists():
            make_folder(self._folder)
            replace_file(self._folder / name, data)
        return name

    def get(self, name: str) -> bytes:
        """Return what was kept."""
        return read_linked(self._folder / name, most_bytes=WHOLE)

    def keep_only(self, names: set[str]) -> None:
        """Remove what nobody refers to any more."""
        with suppress(FileNotFoundError):
            for entry in self._folder.iterdir():
                if entry.name not in names:
                    entry.unlink(missing_ok=True)


def read_unfinished(git_dir: Path, blobs: Blobs) -> UnfinishedWork:
    """Read what the git directory holds now."""
    index = git_dir / "index"
    shared = {os.fsencode(path.name): blobs.put_file(path) for path in git_dir.glob("sharedindex.*")}
    return UnfinishedWork(
        index=blobs.put_file(index) if index.is_file() else None, shared=shared, files=_state_files(git_dir)
    )


def oids_of(unfinished: UnfinishedWork) -> set[str]:
    """Return the objects that a half-done merge or rebase names, of which some may be gone."""
    return {oid.decode() for _, data in unfinished.files.values() for oid in _OID.findall(data)}


async def read_staging(user: UserRepository, head: str | None) -> tuple[tuple[str, ...], str]:
    """Return the objects that only the index names, and a digest of this staging area."""
    base = head or empty_tree(user.repository)
    try:
        raw = await user.git("diff-index", "--cached", "--raw", "-z", "--no-renames", "--ignore-submodules=all", base)
    except CommandFailed:  # git cannot read the index; its bytes are kept all the same
        return (), _UNREADABLE
    rows = [row.split(b" ") for row in raw.split(b"\0")[:-1:2]]
    oids = {row[3].decode() for row in rows if row[1] != b"160000"}
    if any(row[4] == b"U" for row in rows):
        conflicts = await user.git("ls-files", "--unmerged", "-z")
        entries = [row.split(b" ") for row in conflicts.split(b"\0") if row]
        oids |= {entry[1].decode() for entry in entries if entry[0] != b"160000"}
        raw += conflicts
    there = await user.existing({oid for oid in oids if oid.strip("0")})
    return tuple(sorted(there)), hashlib.sha256(raw).hexdigest()[:32]


def restore_state_files(git_dir: Path, saved: UnfinishedWork) -> None:
    """Restore half-done merges and rebases, and remove those that were not there."""
    now = _state_files(git_dir)
    for name in now.keys() - saved.files.keys():
        (git_dir / os.fsdecode(name)).unlink(missing_ok=True)
    for name, kept in saved.files.items():
        if now.get(name) != kept:
            path = git_dir / os.fsdecode(name)
            make_folder(path.parent)
            replace_file(path, kept[1])
            path.chmod(kept[0])
    for folder in _FOLDERS:
        if not any(name.startswith(os.fsencode(folder) + b"/") for name in saved.files):
            remove_folder(git_dir / folder)


def restore_index(git_dir: Path, saved: UnfinishedWork, blobs: Blobs, *, patience_s: float, pulse: Pulse) -> None:
    """Put the user's index back the way git itself would: through its lock."""
    for name, kept in saved.shared.items():
        path = git_dir / os.fsdecode(name)
        if not path.exists():
            replace_file(path, blobs.get(kept))
    index = git_dir / "index"
    if saved.index is None:
        index.unlink(missing_ok=True)
        return
    data = blobs.get(saved.index)
    if index.is_file() and read_linked(index, most_bytes=WHOLE) == data:
        return
    if index.is_dir():
        remove_folder(index)
    mode = stat.S_IMODE(index.stat().st_mode) if index.is_file() else 0o644
    draft = git_dir / "index.spool"
    replace_file(draft, data)
    draft.chmod(mode)
    os.utime(draft, (_OLD_S, _OLD_S))
    wait_for_lock(git_dir, patience_s=patience_s, pulse=pulse)
    os.link(draft, git_dir / "index.lock")
    (git_dir / "index.lock").rename(index)
    draft.unlink()
    sync_folder(git_dir)


def wait_for_lock(git_dir: Path, *, patience_s: float, pulse: Pulse) -> None:
    """Wait until no git works on the index; a lock that stays is never removed, unless it is our own draft."""
    lock, draft = git_dir / "index.lock", git_dir / "index.spool"
    until = time.monotonic() + (patience_s or inf)
    while lock.exists():
        with suppress(FileNotFoundError):
            if draft.exists() and lock.samefile(draft):
                lock.unlink()  # we were killed between linking it and renaming it
                return
        if time.monotonic() > until:
            raise CommandFailed(
                f"git's index is locked: {lock}", hint="if no git is at work there, remove that file and start again"
            )
        pulse()
        time.sleep(0.02)


def _state_files(git_dir: Path) -> dict[bytes, tuple[int, bytes]]:
    paths = [git_dir / name for name in _FILES]
    for folder in _FOLDERS:
        paths += (git_dir / folder).rglob("*")
    found = {}
    for path in paths:
        if path.is_file() and not path.is_symlink():
            data = read_linked(path, most_bytes=WHOLE)
            found[os.fsencode(path.relative_to(git_dir))] = (stat.S_IMODE(path.stat().st_mode), data)
    return found
