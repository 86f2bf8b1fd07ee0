"""Recorded working trees: what differs between two, and fresh checkouts of one."""

import asyncio
import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from spool.domain.judging.gates.deciding_files import is_cache
from spool.engine.gates.proof import PatchedTree
from spool.errors import CommandFailed
from spool.host.git.checkpoints.record.pins import Pins
from spool.host.git.checkpoints.record.recorder import Recorder
from spool.host.git.checkpoints.record.shadow import GATES
from spool.host.git.checkpoints.worktree_identity import WorktreeIdentity
from spool.host.git.difference import copy_out, write_overlaid
from spool.host.git.object_names import is_object_name
from spool.host.git.repository import Repository, ask_git, head_of
from spool.host.state.places import user_cache
from spool.nofollow import make_folder

_CHECKOUT_S = 600.0
_MOST_IGNORED = 2_000
"""Files of an ignored folder that are looked at; more are a build's or a cache's."""
_LARGEST_LENT = 16 << 20
_WHERE = ("-o", "-z", "-I", "-w", "-F", "--no-color", "--full-name")


class RecordedTrees:
    """The trees of one working tree, recorded in its shadow repository."""

    def __init__(
        self,
        repository: Repository,
        recorder: Recorder,
        *,
        owner: str,
        timeout_s: float,
        agent_folders: tuple[str, ...] = (),
    ) -> None:
        self._repository = repository
        self._recorder = recorder
        self._shadow = recorder.shadow
        self._owner = f"{GATES}{owner}"
        self._key = WorktreeIdentity(repository).key
        self._heads = Pins(self._git, self._git, f"refs/spool/pin/{self._key}/")
        self._timeout_s = timeout_s
        self._agent_folders = agent_folders
        self._opened = False
        self._ignored: list[bytes] = []

    @property
    def top(self) -> Path:
        """The top of the working tree."""
        return self._repository.top

    async def record(self) -> str:
        """Record the working tree and return its name."""
        recording = await self._recorder.record()
        self._ignored = recording.ignored
        return recording.tree

    def ignored(self) -> dict[str, str]:
        """Return the ignored files of the last recording, each with its stamp; a folder ends with a slash."""
        names = (name for name in self._ignored if not is_cache(os.fsdecode(name), self._agent_folders))
        return {name.decode("utf-8", "replace"): _stamp(self.top, name, self._agent_folders) for name in names}

    async def keep(self, tree: str) -> bool:
        """Protect a tree from `git gc`; the first one of a run replaces those of earlier runs."""
        try:
            await self._shadow.git("cat-file", "-e", f"{tree}^{{tree}}")
        except CommandFailed:
            return False
        if not self._opened:
            await self._shadow.trees.release(self._owner)
            await self._heads.release(self._owner)
        self._opened = True
        head = await self._head()
        with suppress(CommandFailed):  # a partial clone may lack the objects of HEAD, and then nothing is borrowed
            if head:  # what the tree borrows must outlive an amended commit and `git gc --prune=now`
                await self._git("update-ref", f"refs/spool/pin/{self._key}/{self._owner}/{head}", head)
            await self._shadow.secure(tree, head=head or None, safe=set())
        await self._shadow.trees.hold(self._owner, {tree})
        return True

    async def _git(self, *words: str | bytes, stdin: bytes = b"") -> bytes:
        done = await ask_git(
            self._repository, *(os.fsdecode(word) for word in words), timeout_s=self._timeout_s, stdin=stdin
        )
        return done.output

    async def changes(self, before: str, after: str) -> dict[str, str]:
        """Return the paths that differ between two trees, each with git's letter for how."""
        if not (is_object_name(before) and is_object_name(after)):
            raise CommandFailed("the loop's state names no tree")
        answer = await self._shadow.names("diff-tree", "-r", "-z", "--name-status", "--no-renames", before, after)
        return {os.fsdecode(path): how.decode() for how, path in zip(answer[::2], answer[1::2], strict=True)}

    async def uncommitted(self, tree: str) -> tuple[str, ...]:
        """Return the files that differ between HEAD and a tree; none without a commit."""
        head = await head_of(self._repository, timeout_s=self._timeout_s, kind="tree")
        with suppress(CommandFailed):  # a partial clone may lack objects
            return tuple(await self.changes(head, tree)) if head else ()
        return ()

    async def mentions(self, tree: str, words: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return, for each of some words, the files of a tree in which it stands by itself."""
        if not words or not is_object_name(tree):
            return {}
        asked = "".join(f"{word}\n" for word in words if "\n" not in word)
        try:
            answer = await self._shadow.git("grep", *_WHERE, "-f", "-", tree, stdin=os.fsencode(asked))
        except CommandFailed as error:
            if error.said:
                raise
            return {}  # git exits with 1 where no file has any of them
        found: dict[str, set[str]] = {}
        for line in answer.rstrip(b"\n").split(b"\n"):
            place, _, word = line.partition(b"\0")
            found.setdefault(os.fsdecode(word), set()).add(os.fsdecode(place.partition(b":")[2]))
        return {word: frozenset(paths) for word, paths in found.items()}

    async def drop_compiled(self) -> None:
        """Remove what Python compiled beside the source of the last recording, unless git tracks it.

        Python believes a compiled file with the size and the second of its source: one that was forged, or written in
        the same second, hides what the source says.
        """
        compiled = [name for name in self._ignored if name.endswith((b"__pycache__/", b".pyc"))]
        await asyncio.to_thread(_remove, self.top, [os.fsdecode(name).rstrip("/") for name in compiled])

    async def overlaid(self, tree: PatchedTree) -> str:
        """Record a tree with some of its paths as they are in another one, and return its name."""
        entries = {}
        for line in await self._shadow.names("ls-tree", "-r", "-z", "--full-tree", tree.other):
            about, _, name = line.partition(b"\t")
            entries[os.fsdecode(name)] = about.split()
        nothing = [b"0", b"", b"0" * len(tree.name)]
        lines = [
            b"%b %b\t%b" % (mode, oid, os.fsencode(path))
            for path in tree.paths
            for mode, _, oid in [entries.get(path, nothing)]
        ]
        return await write_overlaid(self._repository, tree.name, b"\0".join(lines) + b"\0", timeout_s=self._timeout_s)

    async def tracked(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return those of some paths that the user's git tracks."""
        if not paths:
            return ()
        known = set((await self._git("ls-files", "-z")).split(b"\0"))
        return tuple(path for path in paths if os.fsencode(path) in known)

    @asynccontextmanager
    async def checkout(self, tree: PatchedTree, share: Sequence[str], lent: Sequence[str] = ()) -> AsyncIterator[Path]:
        """Check out a tree in a folder of its own, outside the working tree, and remove it afterwards.

        It is a repository, so that a check may ask git; it borrows ignored files (`.venv`), and gets copies of `lent`
        ones (`_version.py`).
        """
        scratch = (self._repository.kept or user_cache()) / "scratch"
        make_folder(scratch)
        with tempfile.TemporaryDirectory(prefix="check-", dir=scratch, ignore_cleanup_errors=True) as name:
            folder = Path(name) / self._repository.top.name
            await self._clone(folder)
            await copy_out(self._repository, tree.name, folder, timeout_s=_CHECKOUT_S)
            if tree.paths:
                await asyncio.to_thread(_remove, folder, tree.paths)
                await copy_out(self._repository, tree.other, folder, *tree.paths, timeout_s=_CHECKOUT_S)
            share_files(self._repository.top, folder, share)
            await asyncio.to_thread(_lend, self._repository.top, folder, lent)
            yield folder

    async def _clone(self, folder: Path) -> None:
        """Make a repository that borrows the objects, with HEAD where it is; no git of ours uses a transport."""
        make_folder(folder)
        words = ("init", "--quiet", "--template=", f"--object-format={self._repository.object_format}")
        await ask_git(self._repository, *words, directory=folder, timeout_s=_CHECKOUT_S)
        lent = self._repository.common_dir / "objects"
        make_folder(folder / ".git" / "objects" / "info")
        (folder / ".git" / "objects" / "info" / "alternates").write_bytes(os.fsencode(lent) + b"\n")
        if head := await self._head():
            await ask_git(self._repository, "update-ref", "HEAD", head, directory=folder, timeout_s=_CHECKOUT_S)
            await ask_git(self._repository, "read-tree", "HEAD", directory=folder, timeout_s=_CHECKOUT_S)
            tags = await self._git("for-each-ref", "--format=create %(refname) %(objectname)", "refs/tags")
            await ask_git(
                self._repository, "update-ref", "--stdin", directory=folder, timeout_s=_CHECKOUT_S, stdin=tags
            )

    async def _head(self) -> str:
        return await head_of(self._repository, timeout_s=self._timeout_s)


def _stamp(top: Path, name: bytes, agent_folders: tuple[str, ...]) -> str:
    """Return what changes when a file, or a file of a folder, does; empty for a folder with too many files."""
    place = top / os.fsdecode(name)
    if not name.endswith(b"/"):
        return _stamp_of(place)
    files = itertools.islice(_files_in(place, agent_folders), _MOST_IGNORED + 1)
    stamps = [f"{file.relative_to(place)}:{_stamp_of(file)}" for file in files]
    return blake2b("\0".join(sorted(stamps)).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest() * (
        len(stamps) <= _MOST_IGNORED
    )


def _files_in(folder: Path, agent_folders: tuple[str, ...]) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not is_cache(name, agent_folders)]
        yield from (Path(parent) / name for name in names if not is_cache(name, agent_folders))


def _stamp_of(place: Path) -> str:
    try:
        found = place.lstat()
    except OSError:
        return "gone"
    return f"{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def _remove(folder: Path, paths: Sequence[str]) -> None:
    for path in paths:
        place = folder / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)


def _lend(top: Path, folder: Path, names: Sequence[str]) -> None:
    """Copy ignored files into a checkout, which may write to them; never through a link."""
    for name in names[:_MOST_IGNORED]:
        theirs, ours = top / name, folder / name
        if theirs.is_symlink() or not theirs.is_file() or theirs.stat().st_size > _LARGEST_LENT:
            continue
        if (
            not os.path.lexists(ours)
            and ours.parent.is_dir()
            and ours.parent.resolve().is_relative_to(folder.resolve())
        ):
            shutil.copy2(theirs, ours)


def share_files(top: Path, folder: Path, names: Sequence[str]) -> list[str]:
    """Link what a checkout borrows from a working tree, never through a link; return the names."""
    shared = []
    for name in names:
        theirs, ours = top / name, folder / name
        if theirs.exists() and not os.path.lexists(ours) and ours.parent.resolve().is_relative_to(folder.resolve()):
            ours.parent.mkdir(parents=True, exist_ok=True)
            ours.symlink_to(theirs)
            shared.append(name)
    return shared
