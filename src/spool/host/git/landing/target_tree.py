"""Moves the working tree that has the target checked out: its files, and its index.

Files and index move before the branch does. If the branch moved first and Spool were killed, the old files would look
like edits that revert what landed, and the person's next `git commit -a` would do so. In this order, a half-moved tree
looks like staged work that is landing anyway, and the next landing restores it.

Spool holds `index.lock` all the while, so that no git of the person's commits, stages or checks out in between. The
new index is made beside the old one and renamed.
"""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.account.landing_order import Move, is_same_plan, listed
from spool.domain.text.plain_text import one_line
from spool.host.external_command import Completed, run_command, succeeded
from spool.host.git.bounded_work import in_pieces
from spool.host.git.landing.target_errors import TargetMoved, TreeInTheWay
from spool.host.git.repository import QUIET, bound_environment
from spool.host.state.files import opened, replace_file, sync_folder
from spool.nofollow import WHOLE, Unreadable, read_linked

_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
_LINK, _MODULE = "120000", "160000"
_NOTHING = "000000"
_BUSY = "wait until it has ended; if none is running, remove that file; then run spool land again"


class Entry(msgspec.Struct, frozen=True):
    """A path that differs between two commits."""

    path: str
    old_mode: str
    new_mode: str


class TargetTree:
    """The working tree of one move."""

    def __init__(self, move: Move, *, timeout_s: float, inherits: tuple[int, ...] = ()) -> None:
        self._move = move
        self._top, self._git_dir = Path(move.top), Path(move.git_dir)
        self._index, self._draft = self._git_dir / "index", self._git_dir / "index.spool"
        self._lock = self._git_dir / "index.lock"
        self._named = self._git_dir / f"index.lock.{move.token}"
        """The lock before it has its place."""
        self._timeout_s = timeout_s
        self._inherits = inherits
        self.begun = False
        """Whether any file may have been written."""

    async def require_clean(self) -> None:
        """Raise TreeInTheWay unless the tree is as the target's commit says, with nothing begun in it."""
        begun = [name for name in _UNFINISHED if (self._git_dir / name).exists()]
        if begun:
            raise TreeInTheWay(f"{self._top} is in the middle of a merge or rebase", hint="finish it, or abort it")
        words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty")
        shown = await self._git(*words)
        files = tuple(row[3:] for row in shown.text.split("\0") if row)
        if files:
            raise TreeInTheWay(f"{self._top} has uncommitted changes: {listed(files)}", files=files)

    async def displaced(self) -> dict[str, str]:
        """Return the untracked files that are the same as what lands, each stored as a blob to restore it from."""
        found = {}
        for entry in await self._entries():
            if entry.old_mode == _NOTHING and entry.new_mode != _MODULE and self._in_the_way(entry.path) == entry.path:
                mine = None if (self._top / entry.path).is_symlink() else self._content(entry.path)
                landing = await self._blob(self._move.new, entry.path, entry.new_mode)
                if mine is not None and landing is not None and is_same_plan(entry.path, mine, landing):
                    found[entry.path] = (await self._git("hash-object", "-w", "--stdin", stdin=mine)).text
        return found

    async def advance(self) -> None:
        """Move the files and the index to the new commit; hold the lock until `release`."""
        self._take_lock()
        if (await self._git("rev-parse", "HEAD")).text != self._move.old:  # now that nobody can commit here any more
            raise TargetMoved(f"{self._top} is no longer at {self._move.old[:10]}")
        await self.require_clean()
        entries = await self._entries()
        await self._require_room(entries)
        self._copy_index()
        self.begun = True
        for path in self._move.displaced:
            (self._top / path).unlink()
        done = await self._run("read-tree", "-m", "-u", self._move.old, self._move.new, own=True)
        if done.exit_code:
            said = one_line(done.errors.decode("utf-8", "replace"), 300)
            raise TreeInTheWay(f"git cannot move the files of {self._top}: {said}")
        self._sync(entry.path for entry in entries)
        self._install()

    def release(self) -> None:
        """Let the person's git use the tree again."""
        self._discard_draft()
        if self._holds_lock():
            self._lock.unlink()

    async def undo(self) -> None:
        """Restore the files and the index of a move that did not end.

        A file is restored only if it has the new content, or the beginning of the old or the new one, as a killed git
        leaves it. Anything else is a person's edit since, and stays. An index that is neither the old nor the new one
        is a person's too.
        """
        untouched = not (self._holds_lock() or self._draft.exists())
        at_old, at_new = await self._index_is(self._move.old), await self._index_is(self._move.new)
        if (untouched and at_old) or not (at_old or at_new):
            self.release()
            return
        self._take_lock()
        self._discard_draft()
        self._copy_index()
        if not at_old:
            await self._git("read-tree", "-m", "-i", self._move.new, self._move.old, own=True)
        await self._restore([entry for entry in await self._entries() if await self._is_moved(entry)])
        await self._run("update-index", "-q", "--refresh", own=True)
        self._install()
        self.release()

    async def _restore(self, entries: list[Entry]) -> None:
        for entry in entries:
            if oid := self._move.displaced.get(entry.path):
                replace_file(self._top / entry.path, await self._stored(oid))
            elif entry.old_mode == _NOTHING:
                self._remove(entry.path)
        names = [entry.path for entry in entries if entry.old_mode != _NOTHING]
        await in_pieces({os.fsencode(name): 0 for name in names}, self._check_out, timed_out=self._unlock_draft)
        self._sync(names)

    async def _check_out(self, names: list[bytes]) -> None:
        listed = b"\0".join(names) + b"\0"
        await self._git("checkout-index", "-f", "-u", "-q", "-z", "--stdin", own=True, stdin=listed)

    async def _unlock_draft(self) -> None:
        self._draft.with_name(f"{self._draft.name}.lock").unlink(missing_ok=True)

    def _take_lock(self) -> None:
        """Make `index.lock` with the token in it, in one step; a killed Spool may have left it."""
        if self._holds_lock():
            return
        replace_file(self._named, self._move.token.encode())
        try:
            os.link(self._named, self._lock)
        except FileExistsError:
            raise TreeInTheWay(f"a git command is running in {self._top}: {self._lock} exists", hint=_BUSY) from None
        finally:
            self._named.unlink()

    def _holds_lock(self) -> bool:
        with suppress(OSError):
            return read_linked(self._lock) == self._move.token.encode()
        return False

    def _copy_index(self) -> None:
        # With the time of the old one: git takes a file that is younger than its index for possibly changed.
        if self._index.exists():
            shutil.copy2(self._index, self._draft)

    def _install(self) -> None:
        self._draft.rename(self._index)
        sync_folder(self._git_dir)

    def _discard_draft(self) -> None:
        torn = self._git_dir.glob(f".{self._named.name}.*.tmp")
        for path in (self._draft, self._draft.with_name(f"{self._draft.name}.lock"), self._named, *torn):
            path.unlink(missing_ok=True)

    async def _require_room(self, entries: list[Entry]) -> None:
        """Raise TreeInTheWay if an untracked or ignored file stands where a new one goes, or an edit is hidden."""
        added = [entry.path for entry in entries if entry.old_mode == _NOTHING]
        own = [path for path, oid in self._move.displaced.items() if self._content(path) == await self._stored(oid)]
        here = tuple(dict.fromkeys(found for path in added if path not in own and (found := self._in_the_way(path))))
        if here:
            raise TreeInTheWay(f"untracked files of {self._top} stand in the way: {listed(here)}", files=here)
        changed = {entry.path for entry in entries}
        flagged = [(row[:1], row[2:]) for row in (await self._git("ls-files", "-v", "-z")).text.split("\0") if row]
        hidden = tuple(
            path
            for flag, path in flagged
            if path in changed and (flag.islower() or (flag == "S" and os.path.lexists(self._top / path)))
        )
        if hidden:
            hint = "let git see it again: git update-index --no-assume-unchanged --no-skip-worktree FILE"
            raise TreeInTheWay(f"git was told to ignore edits of {listed(hidden)}", hint=hint, files=hidden)

    async def _stored(self, oid: str) -> bytes:
        return (await self._git("cat-file", "blob", oid)).output

    def _in_the_way(self, path: str) -> str:
        place = self._top / path
        if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            return path
        for folder in Path(path).parents:
            if (self._top / folder).is_symlink():
                return str(folder)
        return ""

    async def _is_moved(self, entry: Entry) -> bool:
        """Whether a file is no longer as it was, and by Spool's doing."""
        if _MODULE in (entry.old_mode, entry.new_mode):
            return False
        here = self._content(entry.path)
        oid = self._move.displaced.get(entry.path)
        old = await self._stored(oid) if oid else await self._blob(self._move.old, entry.path, entry.old_mode)
        new = await self._blob(self._move.new, entry.path, entry.new_mode)
        if here == old:
            return entry.old_mode not in (entry.new_mode, _NOTHING)
        return here is None or any(one is not None and one.startswith(here) for one in (old, new))

    def _content(self, path: str) -> bytes | None:
        place = self._top / path
        with suppress(FileNotFoundError, NotADirectoryError, Unreadable):
            return os.fsencode(place.readlink()) if place.is_symlink() else read_linked(place, most_bytes=WHOLE)
        return None

    async def _blob(self, commit: str, path: str, mode: str) -> bytes | None:
        if mode == _NOTHING:
            return None
        kind = ("blob",) if mode == _LINK else ("--filters",)
        return (await self._git("cat-file", *kind, f"{commit}:{path}")).output

    def _remove(self, path: str) -> None:
        place = self._top / path
        place.unlink(missing_ok=True)
        for folder in Path(path).parents:
            if folder == Path():
                break
            with suppress(OSError):  # it is not empty
                (self._top / folder).rmdir()

    def _sync(self, paths: Iterable[str]) -> None:
        """Make written files survive a power cut, before the branch says that they are there."""
        folders = set()
        for path in paths:
            place = self._top / path
            folders.add(place.parent)
            with suppress(OSError), opened(place, os.O_RDONLY) as descriptor:
                os.fsync(descriptor)
        for folder in folders:
            with suppress(OSError):
                sync_folder(folder)

    async def _entries(self) -> list[Entry]:
        words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", self._move.old, self._move.new)
        fields = (await self._git(*words)).text.split("\0")
        return [
            Entry(path, about.split()[0].lstrip(":"), about.split()[1])
            for about, path in zip(fields[:-1:2], fields[1::2], strict=True)
        ]

    async def _index_is(self, commit: str) -> bool:
        return (await self._run("diff-index", "--cached", "--quiet", commit, "--")).exit_code == 0

    async def _git(self, *words: str, own: bool = False, stdin: bytes = b"") -> Completed:
        return succeeded(f"git {words[0]}", await self._run(*words, own=own, stdin=stdin))

    async def _run(self, *words: str, own: bool = False, stdin: bytes = b"") -> Completed:
        """Run git in the tree, with the person's settings, hooks aside; `own` uses the index that Spool drafts."""
        env = bound_environment(self._git_dir, self._top)
        return await run_command(
            ["git", *QUIET, "-c", "core.fsync=all", "-c", "submodule.recurse=false", *words],
            directory=self._top,
            timeout_s=self._timeout_s,
            env={**env, "GIT_INDEX_FILE": str(self._draft)} if own else env,
            stdin=stdin,
            inherits=self._inherits,
        )
