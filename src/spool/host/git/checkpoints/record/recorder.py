"""Records the working tree as a git tree of the shadow's, with what a git tree cannot hold beside it."""

import os
import stat
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from spool import shortcuts
from spool.domain.loop.state import Changes
from spool.errors import CommandFailed
from spool.host.git.checkpoints.pace import tell
from spool.host.git.checkpoints.paths import ExcludedPaths, is_folder, is_repository, spared
from spool.host.git.checkpoints.record.folders import Folders, folders_of, learn_folders
from spool.host.git.checkpoints.record.ignore_rules import IgnoreRules
from spool.host.git.checkpoints.record.modes import (
    Known,
    Modes,
    Settled,
    learn_files,
    load_known,
    look,
    save_known,
    signature,
    usual_modes,
)
from spool.host.git.checkpoints.record.mounts import mounts_below
from spool.host.git.checkpoints.record.open_files import written_below
from spool.host.git.checkpoints.record.quick_check import IndexStatus, QuickCheck, glance
from spool.host.git.checkpoints.record.shadow import Shadow
from spool.host.git.checkpoints.record.stamps import Stamp, recent_of, suspects
from spool.host.git.checkpoints.record.tracked import NOT_PROVED, TrackedFiles
from spool.host.git.checkpoints.record.untracked import Untracked, expanded, find_untracked
from spool.host.threads import Pulse, in_thread, together

LARGE_FILE_BYTES = 100 << 20
FILES_LISTED = 200
BEING_WRITTEN = "being written by another process"
_NOTHING = ExcludedPaths()


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """The working tree at one moment, ignored files aside."""

    tree: str
    modes: Modes
    ignored: list[bytes]
    nested: list[bytes]
    grown: list[bytes]
    """Folders that have become repositories and are still recorded as folders."""
    left: dict[bytes, str]
    """Files, and folders with a slash, that are not recorded, and why."""
    closed: list[bytes]
    """Folders that cannot be read."""


class _Survey(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of a first look at the tree."""

    behind: ExcludedPaths
    """Paths behind a mount."""
    changed: dict[bytes, bytes]
    """The recorded files whose file differs, and how: M, T or D."""
    others: Untracked
    user_index: tuple[int, ...]


class Recorder:
    """Updates the shadow's index from the working tree."""

    def __init__(self, shadow: Shadow, *, large_file_bytes: int = LARGE_FILE_BYTES) -> None:
        self.shadow = shadow
        self._large = large_file_bytes
        self._user = os.geteuid()
        self._written: frozenset[bytes] = frozenset()
        self._notes = shadow.git_dir / "known"
        self._tracked = TrackedFiles(shadow)
        self._status = IndexStatus(shadow.index, name_bytes=32 if shadow.repository.object_format == "sha256" else 20)

    async def record(
        self,
        spare: ExcludedPaths = _NOTHING,
        *,
        lets_go: bool = False,
        rules: IgnoreRules | None = None,
        proves: bool = True,
        written: frozenset[bytes] | None = None,
    ) -> Recording:
        """Record the tree as it is now, without the names to spare, under the user's ignore rules or earlier ones.

        A folder that has become a repository is let go, or else recorded as the folder that it was. Who is about to
        pack the new objects need not have it proved that they are there. Untracked files that are being written, of
        which `written` may name those that are known, are left.
        """
        rules = rules or await self.shadow.read_rules()
        known, same = await in_thread(lambda pulse: self._glance(rules, spare, pulse))
        quiet = known is not None and same.files and known.user_index == self._tracked.signature()
        if known is not None and quiet and (not proves or known.tree == self.shadow.proved):
            return _recording(known, _beside(known))
        await self.shadow.prepare(rules)
        if written is None:
            written = await in_thread(lambda _: written_below(self.shadow.top))
        self._written = written - await self._tracked.among(written)
        try:
            return await self._proved(await self._record(spare, same, known, lets_go=lets_go), proves=proves)
        except CommandFailed:
            # Its index may name objects that a full disk or the user's `git gc` has taken: begin anew, once.
            self.shadow.forget()
            return await self._proved(await self._record(spare, QuickCheck(), None, lets_go=lets_go), proves=proves)

    async def compare(self, before: str, after: str) -> Changes:
        """Return what changed from one recorded tree to another."""
        if before == after:
            return Changes(count=0)
        answer = await self.shadow.names(
            "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", before, after
        )
        rows = [row.decode("utf-8", "replace").split("\t", 2) for row in answer]
        return Changes(
            count=len(rows),
            files=tuple(row[2] for row in rows[:FILES_LISTED]),
            insertions=sum(int(row[0]) for row in rows if row[0] != "-"),
            deletions=sum(int(row[1]) for row in rows if row[1] != "-"),
        )

    async def _proved(self, recording: Recording, *, proves: bool) -> Recording:
        if proves and recording.tree != self.shadow.proved:
            await self.shadow.prove(recording.tree)
        return recording

    def settle(self, tree: str, modes: Modes, touched: list[bytes]) -> None:
        """Remember that index and working tree are again what they were when this was recorded."""
        self.shadow.note_proved(tree)
        before = load_known(self._notes, None)
        recent = {**(before.recent if before else {}), **dict.fromkeys(touched, ())}
        save_known(
            self._notes,
            Known(index=signature(self.shadow.index), tree=tree, modes=modes, recent=recent),
        )

    async def _record(self, spare: ExcludedPaths, same: QuickCheck, known: Known | None, *, lets_go: bool) -> Recording:
        index = signature(self.shadow.index)
        known = known if known and known.index == index else load_known(self._notes, index)
        if known is None:
            self.shadow.forget_proof()
        survey, tracked = await together(self._survey(spare, same, known), self._tracked.look(known))
        if known and same.recent and not survey.changed and known.user_index == survey.user_index:
            return _recording(known, survey.others)
        wanted = await self._wanted(survey, tracked.names)
        everything = [] if known or not index else await self.shadow.names("ls-files", "-z")
        names = list(dict.fromkeys([*wanted, *everything, *(known.recent if known else {})]))
        seen, unseen = await in_thread(lambda pulse: look(self.shadow.top, names, pulse))
        # Without notes, all that changed about the time when the index was written is in doubt.
        now_ns = self.shadow.now_ns
        doubtful: dict[bytes, Stamp] = (
            {} if known else dict.fromkeys(recent_of(seen, index[0] if index else now_ns), ())
        )
        known = known or Known(modes=usual_modes(seen), recent=doubtful)
        again = [name for name in suspects(known.recent, seen) if name not in survey.changed]
        known.recent = recent_of(seen, now_ns)
        learn_files(known.modes, seen)
        folders = await self._learn_folders(known, names, survey)
        real = [name for name in folders.repositories if is_repository(self.shadow.top, name)]
        if lets_go and real:
            await self._let_go(known, real)
            return await self._record(spare, QuickCheck(), None, lets_go=True)
        taken = {name: seen[name] for name in [*wanted, *again] if name in seen}
        left = await self._take(known, survey.changed, again, taken)
        left |= {name: "not readable" for name in unseen if name in wanted}
        left |= {name + b"/.git": "not a repository" for name in folders.repositories if name not in real}
        ignored = await self._name_hidden(survey, folders, left)
        known.user_index = survey.user_index
        known.index = signature(self.shadow.index)
        settles = not (spare.names or left or survey.others.nested or folders.repositories or self.shadow.mounts)
        known.settled = Settled(rules=self.shadow.rules, ignored=ignored) if settles else None
        stays = all(name in taken and _can_hold(taken[name]) for name in survey.changed)
        known.tracked = tracked.proof if settles and stays else NOT_PROVED
        save_known(self._notes, known)
        others = msgspec.structs.replace(survey.others, ignored=ignored)
        return _recording(known, others, grown=folders.repositories, left=left, closed=folders.closed)

    def _glance(self, rules: IgnoreRules, spare: ExcludedPaths, pulse: Pulse) -> tuple[Known | None, QuickCheck]:
        """Check without git, if what stood beside the recorded files is known and the rules are the same."""
        known = load_known(self._notes, signature(self.shadow.index))
        settled = known.settled if known else None
        if not shortcuts.QUICK_CHECK:
            return known, QuickCheck()
        if known is None or settled is None or settled.rules != rules or spare.names or mounts_below(self.shadow.top):
            return known, QuickCheck()
        return known, glance(self.shadow.top, known, self._status, pulse)

    async def _survey(self, spare: ExcludedPaths, same: QuickCheck, known: Known | None) -> _Survey:
        user_index = self._tracked.signature()
        behind = spared(name + b"/" for name in self.shadow.mounts)
        changed, others = await together(
            self._changed(), self._others(known if same.folders else None, spare.also(behind.names))
        )
        changed = {name: how for name, how in changed.items() if not behind.covers(name)}
        # Git lists nothing of a folder whose name the index has as a file.
        hidden = [name for name in changed if is_folder(self.shadow.top, name) and not spare.covers(name)]
        if hidden:
            others = await expanded(self.shadow, spare.also(behind.names), others, hidden)
        return _Survey(behind=behind, changed=changed, others=others, user_index=user_index)

    async def _others(self, known: Known | None, spare: ExcludedPaths) -> Untracked:
        return _beside(known) if known and known.settled else await find_untracked(self.shadow, spare)

    async def _wanted(self, survey: _Survey, tracked: list[bytes] | None) -> list[bytes]:
        """Return the files to take into the index."""
        changed, others = survey.changed, survey.others
        wanted = [name for name, how in changed.items() if how != b"D"] + others.files
        if tracked is None and _touches_rules([*changed, *others.files]):
            tracked = await self._tracked.yet_ignored()
        wanted += [name for name in tracked or () if name not in changed]
        return [name for name in wanted if not survey.behind.covers(name)]

    async def _learn_folders(self, known: Known, names: list[bytes], survey: _Survey) -> Folders:
        """Check all folders: which have become repositories, and which cannot be read."""
        others, shadow = survey.others, self.shadow
        more = folders_of(names) | folders_of(others.folders) | {*others.folders, *others.nested}
        found = await in_thread(
            lambda pulse: learn_folders(shadow.top, known, more, survey.behind, now_ns=shadow.now_ns, pulse=pulse)
        )
        found.repositories = [name for name in found.repositories if name not in set(others.nested)]
        found.closed += [name for name in others.closed if name not in found.closed]
        return found

    async def _name_hidden(self, survey: _Survey, folders: Folders, left: dict[bytes, str]) -> list[bytes]:
        """Add to what is left: mount points and unreadable folders; return what is ignored, mount points too."""
        left |= {name + b"/": "not readable" for name in folders.closed}
        by_rule = await self.shadow.ignored(self.shadow.mounts)
        left |= {name + b"/": "a mount point" for name in self.shadow.mounts if name not in by_rule}
        return [*survey.others.ignored, *(name + b"/" for name in by_rule)]

    async def _let_go(self, known: Known, grown: list[bytes]) -> None:
        """Stop recording the files of folders that have become repositories."""
        await self.shadow.unstage(await self.shadow.names("ls-files", "-z", "--", *grown))
        inside = tuple(name + b"/" for name in grown)
        known.modes.folders = {name: mode for name, mode in known.modes.folders.items() if not name.startswith(inside)}
        known.tree = ""
        known.tracked = NOT_PROVED
        known.index = signature(self.shadow.index)
        save_known(self._notes, known)

    async def _take(
        self, known: Known, changed: dict[bytes, bytes], again: list[bytes], seen: dict[bytes, os.stat_result]
    ) -> dict[bytes, str]:
        """Update the index, and return what it was not given."""
        left = {name: why for name, entry in seen.items() if (why := self._refusal(name, entry))}
        taken = {name: entry.st_size for name, entry in seen.items() if name not in left and _can_hold(entry)}
        gone = [name for name in changed if name not in taken]
        # Git reads a file again only if its index does not have it.
        await self.shadow.unstage([*gone, *again])
        refused = await self.shadow.stage(taken)
        await self.shadow.unstage(refused)
        if gone or taken or not known.tree:
            known.tree = await self.shadow.write_tree()
        tell("checkpoint", 1.0, files=len(taken), size=sum(taken.values()))
        return left | dict.fromkeys(refused, "refused by git")

    async def _changed(self) -> dict[bytes, bytes]:
        """Return the recorded files whose file differs, and how: M, T or D."""
        answer = await self.shadow.names("diff-files", "-z", "--raw", "--ignore-submodules=all", "--no-ext-diff")
        return {name: row[-1:] for row, name in zip(answer[::2], answer[1::2], strict=True)}

    def _refusal(self, name: bytes, entry: os.stat_result) -> str:
        """Return why a file is left alone; nothing if it is not."""
        if not stat.S_ISREG(entry.st_mode):
            return ""
        if name in self._written:
            return BEING_WRITTEN
        if self._large and entry.st_size > self._large:
            return f"larger than {self._large >> 20} MB" if self._large >> 20 else f"larger than {self._large} bytes"
        own = entry.st_uid == self._user and entry.st_mode & stat.S_IRUSR
        return "" if own or os.access(self.shadow.top + b"/" + name, os.R_OK) else "not readable"


def _recording(
    known: Known,
    others: Untracked,
    *,
    grown: Sequence[bytes] = (),
    left: Mapping[bytes, str] = MappingProxyType({}),
    closed: Sequence[bytes] = (),
) -> Recording:
    return Recording(
        tree=known.tree,
        modes=known.modes,
        ignored=others.ignored,
        nested=others.nested,
        grown=list(grown),
        left=dict(left),
        closed=list(closed),
    )


def _beside(known: Known) -> Untracked:
    """Return what stood beside the recorded files when nothing was left to record."""
    ignored = known.settled.ignored if known.settled else []
    return Untracked(files=[], folders=[], nested=[], ignored=ignored)


def _can_hold(entry: os.stat_result) -> bool:
    """Whether git can hold such a thing; a FIFO, a socket or a device it cannot."""
    return stat.S_ISREG(entry.st_mode) or stat.S_ISLNK(entry.st_mode)


def _touches_rules(names: list[bytes]) -> bool:
    return any(name.rpartition(b"/")[2] == b".gitignore" for name in names)
