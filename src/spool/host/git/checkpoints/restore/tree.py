"""Restores a working tree: what was changed is rewritten, and only what was not there before is removed."""

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from spool.errors import CommandFailed
from spool.host.git.bounded_work import in_pieces
from spool.host.git.checkpoints.pace import tell
from spool.host.git.checkpoints.paths import is_folder, is_readable, parents, place, spared, status, within
from spool.host.git.checkpoints.record.folders import folders_of
from spool.host.git.checkpoints.record.ignored import differing, write_ignored
from spool.host.git.checkpoints.record.modes import Modes
from spool.host.git.checkpoints.record.recorder import Recorder
from spool.host.git.checkpoints.restore.displaced_files import DisplacedFiles
from spool.host.git.checkpoints.restore.empty_folders import find_bare
from spool.host.git.checkpoints.snapshot import RepositoryPart
from spool.host.threads import Pulse, in_thread, together
from spool.nofollow import read_linked

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_RULES = b".gitignore"
_ASKED = 500
"""Missing files of which the size is asked: a command line has an end."""
_SPARE_BYTES = 64 << 10


class TreeRestorer:
    """Restores one repository's working tree from a checkpoint.

    What the file system refuses does not end the revert: it is left as it is, and `failed` says why.
    """

    def __init__(
        self,
        recorder: Recorder,
        target: RepositoryPart,
        now: RepositoryPart | None,
        displaced: DisplacedFiles,
        written: frozenset[bytes],
    ) -> None:
        """`written` are the files that somebody is writing: replaced, they would be lost to their writer."""
        self.failed: dict[bytes, str] = {}
        self._recorder = recorder
        self._shadow = recorder.shadow
        self._top = recorder.shadow.top
        self._target = target
        self._now = now
        self._displaced = displaced
        self._left = frozenset(now.left) if now else frozenset()
        self._kept: frozenset[bytes] = frozenset()
        self._real: set[bytes] = set()
        """The folders that one pass over many names has seen to be real ones."""
        self._behind = spared([*(name + b"/" for name in recorder.shadow.mounts), *written])
        self._spare = spared([
            *target.ignored, *target.left, *(name + b"/" for name in target.nested), *self._behind.names
        ])  # fmt: skip

    async def restore(self) -> None:
        """Do it. Each step may be cut short: done again from the start, it ends the same."""
        known = spared([*self._target.ignored, *self._target.left])
        new = [name for name in self._shadow.mounts if not known.covers(name)]
        self.failed |= dict.fromkeys(new, "is a mount point: nothing behind it was touched")
        await self._shadow.git("read-tree", "--reset", self._target.tree)
        self._kept = await self._held_by_attempt()
        rewrite = await self._to_rewrite()
        await self._restore_rules(rewrite)
        if await self._remove_repositories():
            rewrite |= await self._to_rewrite()
        if await self._remove_new():  # git does not list what is behind a link that leads to itself
            rewrite |= await self._to_rewrite()
        await self._write(rewrite)
        if rewrite and (missing := await self._to_rewrite()):
            await self._require_room(list(missing))
            self.failed = dict.fromkeys(missing, "cannot be brought back") | self.failed
        unsure = await self._unsure_modes()
        await in_thread(self._restore_folders)
        touched = await in_thread(lambda pulse: self._restore_modes(rewrite, unsure, pulse))
        await in_thread(self._restore_ignored)
        await in_thread(self._restore_fifos)
        await in_thread(self._restore_folder_modes)
        tell("restore", 1.0, files=len(rewrite))
        self._recorder.settle(self._target.tree, self._target.modes, [*rewrite, *touched])

    async def _to_rewrite(self) -> dict[bytes, bytes]:
        """Return the files that differ, with git's mode of each."""
        answer = await self._shadow.names("diff-files", "-z", "--raw", "--ignore-submodules=all", "--no-ext-diff")
        rows = zip(answer[::2], answer[1::2], strict=True)
        return {name: row[1:7] for row, name in rows if not self._behind.covers(name)}

    async def _held_by_attempt(self) -> frozenset[bytes]:
        """Return what the discarded attempt holds and the target has not: this, and nothing else, may be deleted."""
        if self._now is None:
            return frozenset()
        gone = await self._shadow.names(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=D", self._now.tree, self._target.tree
        )
        return frozenset(gone) | frozenset(self._now.ignored_files)

    async def _restore_rules(self, rewrite: dict[bytes, bytes]) -> None:
        """Restore ignore rules before anything else is decided: an agent may have rewritten them."""
        await self._write({name: mode for name, mode in rewrite.items() if _is_rules(name)})
        new = [name for name in self._kept if _is_rules(name) and not self._spare.covers(name)]
        await in_thread(lambda pulse: self._take_away(new, pulse))

    async def _remove_repositories(self) -> bool:
        """Remove repositories that were not there: new ones whole, and the `.git` of what had been a folder."""
        if self._now is None:
            return False
        old = {*self._target.nested, *self._target.grown}
        nested = [name for name in self._now.nested if name not in old]
        ignored = await self._shadow.ignored(nested)
        gone = [name for name in nested if name not in ignored]
        gone += [name + b"/.git" for name in self._now.grown if name not in old and not self._is_other_worktree(name)]
        await in_thread(lambda pulse: self._take_away(gone, pulse))
        return bool(gone)

    async def _remove_new(self) -> bool:
        """Remove what was not there before and what is new, ignored and kept; return whether there was any."""
        spare, now = self._spare, self._now.modes if self._now else Modes()
        listing: list[str | bytes] = ["ls-files", "--others", *self._shadow.excluded_mounts, "--exclude-standard", "-z"]
        files, collapsed = await together(self._shadow.names(*listing), self._shadow.names(*listing, "--directory"))
        fifos = [*(now.fifos.keys() - self._target.modes.fifos.keys())]
        ignored = await self._shadow.ignored(fifos)
        new = [name.rstrip(b"/") for name in [*files, *fifos] if name not in ignored]
        new = [name for name in dict.fromkeys([*new, *self._kept]) if not spare.covers(name)]
        await in_thread(lambda pulse: self._take_away(new, pulse))
        unkept = {name for name in (self._now.ignored if self._now else ()) if not name.endswith(b"/")} - self._kept
        self.failed |= {name: "is new, ignored and not kept: it stays" for name in unkept if not spare.covers(name)}
        # Empty folders that new rules had hidden are not known to the attempt, and not listed among the files.
        readable = {name for name in now.folders if name + b"/" not in self._left}
        old = self._target.modes.folders.keys()
        start = {name[:-1] for name in collapsed if name.endswith(b"/")} | (readable - old)
        hidden = await find_bare(self._shadow, spare, start, old | readable, self._is_other_worktree)
        await in_thread(lambda pulse: self._take_away(hidden, pulse))
        await in_thread(lambda pulse: self._remove_folders(new, pulse))
        await in_thread(lambda pulse: self._for_each(self._unreadable(), pulse, self._take_folder_away))
        return bool(new)

    def _unreadable(self) -> list[bytes]:
        """Return the new folders in which something cannot be read or reached: they are moved as a whole."""
        old = self._target.modes.folders
        names = [name.rstrip(b"/") for name in self._left if not self._spare.covers(name) and self._is_closed(name)]
        above = [[folder for folder in (*reversed([*parents(name)]), name) if folder not in old] for name in names]
        return [new[0] for new in above if new]

    def _is_closed(self, name: bytes) -> bool:
        try:
            entry = status(self._top, name)
        except OSError:
            return True
        return entry is not None and stat.S_ISDIR(entry.st_mode) and not is_readable(self._top, name, entry)

    def _take_away(self, names: list[bytes], pulse: Pulse) -> None:
        self._for_each(names, pulse, self._take_one_away)

    def _take_one_away(self, name: bytes) -> None:
        entry = status(self._top, name)
        if entry is None or not within(self._top, name, self._real):
            return
        if not (stat.S_ISDIR(entry.st_mode) and self._is_other_worktree(name)):
            self._open_folder(name)
            self._remove(name, entry.st_mode)

    def _take_folder_away(self, name: bytes) -> None:
        if is_folder(self._top, name):
            self._take_one_away(name)

    def _for_each(self, names: Iterable[bytes], pulse: Pulse, work: Callable[[bytes], object]) -> None:
        """Do something for each name; note where the file system refuses it, and leave out what is behind a mount."""
        self._real.clear()
        for name in names:
            pulse()
            if self._behind.covers(name):
                continue
            try:
                work(name)
            except OSError as error:
                if error.errno in NO_ROOM:
                    raise
                self.failed[name] = f"cannot be brought back: {error.strerror or error}"

    def _is_other_worktree(self, name: bytes) -> bool:
        """Whether a folder is a linked working tree of this repository: another loop may be at work there."""
        link = place(self._top, name + b"/.git")
        with suppress(OSError, ValueError):  # an agent can write anything into it, a NUL too
            git_dir = Path(read_linked(link).decode("utf-8").removeprefix("gitdir:").strip())
            return git_dir.resolve().is_relative_to(self._shadow.repository.common_dir.resolve() / "worktrees")
        return False

    def _remove_folders(self, names: list[bytes], pulse: Pulse) -> None:
        """Remove the folders that are empty now and were not there before."""
        new = folders_of(names)
        new |= self._now.modes.folders.keys() if self._now else set()
        self._for_each(
            sorted(new - self._target.modes.folders.keys() - {b""}, reverse=True), pulse, self._remove_folder
        )

    def _remove_folder(self, folder: bytes) -> None:
        if not self._spare.covers(folder) and is_folder(self._top, folder) and within(self._top, folder, self._real):
            self._open_folder(folder)
            with suppress(OSError):  # something ignored is still in it
                place(self._top, folder).rmdir()

    async def _write(self, files: dict[bytes, bytes]) -> None:
        """Write files as they were; git unlinks a link or a read-only file first and never writes through one."""
        await in_thread(lambda pulse: self._clear_way(list(files), pulse))
        ready = dict.fromkeys([name for name in files if name not in self.failed], 0)
        done = 0

        async def write(names: list[bytes]) -> None:
            nonlocal done
            tell("restore", done / len(ready), files=len(ready))
            listed = b"\0".join(names) + b"\0"
            try:
                await self._shadow.git("checkout-index", "-f", "-u", "-q", "-z", "--stdin", stdin=listed)
            except CommandFailed:  # the other files are written, yet not noted; the last comparison names the rest
                with suppress(CommandFailed):
                    await self._shadow.git("update-index", "-q", "--refresh")
            done += len(names)

        await in_pieces(ready, write, timed_out=self._shadow.unlock)

    async def _require_room(self, names: list[bytes]) -> None:
        """Raise if files are missing because the disk is full: the revert is due until there is room."""
        rows = await self._shadow.names("ls-files", "-s", "-z", "--", *names[:_ASKED])
        oids = b"".join(row.split(b" ", 2)[1] + b"\n" for row in rows)
        sizes = (await self._shadow.git("cat-file", "--batch-check=%(objectsize)", stdin=oids)).split(b"\n")
        most = max((int(size) for size in sizes if size.isdigit()), default=0)
        await in_thread(lambda _: _try_to_write(self._top, most + _SPARE_BYTES))

    def _clear_way(self, names: list[bytes], pulse: Pulse) -> None:
        """Move aside what stands where a file or a folder has to be: git would delete the folder with all in it."""
        clear: set[bytes] = set()

        def clear_way(name: bytes) -> None:
            for folder in reversed([*takewhile(lambda folder: folder not in clear, parents(name))]):
                self._clear_folder(folder)
                clear.add(folder)
            entry = status(self._top, name)
            if entry is not None and (not _is_plain(entry.st_mode) or name in self._left):
                self._remove(name, entry.st_mode)

        self._for_each([b""], pulse, self._clear_folder)
        self._for_each(names, pulse, clear_way)

    def _clear_folder(self, folder: bytes) -> None:
        """Make room for a folder, or make it writable, at this name."""
        entry = status(self._top, folder)
        if entry is None:
            return
        if not stat.S_ISDIR(entry.st_mode):
            self._remove(folder, entry.st_mode)
        elif entry.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            place(self._top, folder).chmod(stat.S_IMODE(entry.st_mode) | stat.S_IRWXU)

    def _open_folder(self, name: bytes) -> None:
        """Make the folder of a name writable; its mode is put right at the end."""
        self._clear_folder(name.rpartition(b"/")[0])

    def _remove(self, name: bytes, mode: int) -> None:
        """Delete what the discarded attempt holds; move aside everything else."""
        if name in self._kept and _is_plain(mode):
            place(self._top, name).unlink()
            return
        prefix = self._target.path + b"/" if self._target.path else b""
        self._displaced.put(self._top, name, known_as=prefix + name)

    async def _unsure_modes(self) -> list[bytes]:
        """Return the files with an unusual mode then or now; every file, where that is not known."""
        now, then = (self._now.modes if self._now else None), self._target.modes
        if now and (now.plain, now.executable) == (then.plain, then.executable):
            return [*(now.files.keys() | then.files.keys())]
        return await self._shadow.names("ls-files", "-z")

    def _restore_modes(self, rewritten: dict[bytes, bytes], names: list[bytes], pulse: Pulse) -> list[bytes]:
        modes = self._target.modes
        touched = []

        def restore(name: bytes) -> None:
            entry = status(self._top, name)
            if entry is None or not stat.S_ISREG(entry.st_mode):
                return
            executable = b"100755" if entry.st_mode & stat.S_IXUSR else b"100644"
            wanted = modes.of_file(name, rewritten.get(name, executable))
            if stat.S_IMODE(entry.st_mode) != wanted:
                place(self._top, name).chmod(wanted)
                touched.append(name)

        self._for_each([*rewritten, *names], pulse, restore)
        return touched

    def _restore_ignored(self, pulse: Pulse) -> None:
        saved = self._target.ignored_files

        def restore(name: bytes) -> None:
            self._clear_way([name], pulse)
            entry = status(self._top, name)
            if entry is not None and name not in self._kept:
                self._remove(name, entry.st_mode)
            write_ignored(self._top, name, saved[name])

        self._for_each(differing(self._top, saved, pulse), pulse, restore)

    def _restore_fifos(self, pulse: Pulse) -> None:
        modes = self._target.modes.fifos

        def restore(name: bytes) -> None:
            entry = status(self._top, name)
            if entry is None or not stat.S_ISFIFO(entry.st_mode):
                self._clear_way([name], pulse)
                if entry is not None:
                    self._remove(name, entry.st_mode)
                os.mkfifo(place(self._top, name))
            place(self._top, name).chmod(modes[name])

        self._for_each(modes, pulse, restore)

    def _restore_folders(self, pulse: Pulse) -> None:
        """Make the folders that are missing, empty ones too."""

        def restore(name: bytes) -> None:
            if not is_folder(self._top, name):
                self._open_folder(name)
                self._clear_folder(name)
                place(self._top, name).mkdir()

        self._for_each(sorted(self._target.modes.folders), pulse, restore)

    def _restore_folder_modes(self, pulse: Pulse) -> None:
        """Set each folder's mode, the inner ones first: the outer one may be closed by it."""
        modes = self._target.modes.folders

        def restore(name: bytes) -> None:
            entry = status(self._top, name)
            if entry is not None and stat.S_ISDIR(entry.st_mode) and stat.S_IMODE(entry.st_mode) != modes[name]:
                place(self._top, name).chmod(modes[name])

        self._for_each(sorted(modes, reverse=True), pulse, restore)


def _try_to_write(folder: bytes, size: int) -> None:
    try:
        with tempfile.TemporaryFile(dir=os.fsdecode(folder)) as file:
            for _ in range(0, size, _SPARE_BYTES):
                file.write(bytes(_SPARE_BYTES))
    except OSError as error:
        if error.errno in NO_ROOM:
            hint = "free some space; the next command here finishes it"
            raise CommandFailed(f"not all files are restored: {error.strerror}", hint=hint) from None


def _is_rules(name: bytes) -> bool:
    return name.rpartition(b"/")[2] == _RULES


def _is_plain(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
