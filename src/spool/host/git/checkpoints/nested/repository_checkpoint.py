"""One repository, the working tree's own or a nested one: records it in a snapshot, and restores it."""

from functools import partial
from pathlib import Path

import msgspec

from spool.errors import CommandFailed
from spool.host.git.checkpoints.nested.git_directory import (
    GitDirectoryCopy,
    NestedGitDirectory,
    content_of,
    link_of,
    put_essential,
    read_essentials,
)
from spool.host.git.checkpoints.paths import ExcludedPaths, shown, spared
from spool.host.git.checkpoints.record.folders import open_folders
from spool.host.git.checkpoints.record.ignored import read_ignored
from spool.host.git.checkpoints.record.open_files import written_below
from spool.host.git.checkpoints.record.pins import MOST_PINS, Pins
from spool.host.git.checkpoints.record.recorder import BEING_WRITTEN, Recorder, Recording
from spool.host.git.checkpoints.record.shadow import GATES, Shadow
from spool.host.git.checkpoints.record.user_repository import Head, Refs, UserRepository
from spool.host.git.checkpoints.restore.displaced_files import DisplacedFiles
from spool.host.git.checkpoints.restore.head_aim import HeadAim, Own, aim_at
from spool.host.git.checkpoints.restore.refs import log_size, restore_refs
from spool.host.git.checkpoints.restore.tree import TreeRestorer
from spool.host.git.checkpoints.restore.unfinished import (
    UnfinishedWork,
    oids_of,
    read_staging,
    read_unfinished,
    restore_index,
    restore_state_files,
    wait_for_lock,
)
from spool.host.git.checkpoints.snapshot import RepositoryPart, TreeSettings
from spool.host.git.checkpoints.worktree_identity import nested_key
from spool.host.git.repository import Repository
from spool.host.threads import in_thread, together

_MOST_NAMED = 50
_FEW_NAMED = 10
_MOST_ASKED = 200
"""File names in one git command."""
_NO_REFS = Refs(Head(None, None), {})


class Stale(msgspec.Struct, frozen=True, kw_only=True):
    """An owner's pins and trees that it no longer needs, and warnings."""

    pins: set[str]
    trees: set[str]
    warnings: list[str]


class NameChange(msgspec.Struct, frozen=True):
    """A file's change between two recorded trees: A, D, M or T, and its contents."""

    name: bytes
    status: bytes
    before: str
    after: str


class RepositoryCheckpoint:
    """The repository at one place in the working tree."""

    def __init__(self, repository: Repository, path: bytes, settings: TreeSettings, *, stranger: bool = False) -> None:
        """`stranger`: another one stands in the place of this repository, and only its files are recorded."""
        self.path = path
        self.repository = repository
        self.stranger = stranger
        self._settings = settings
        git_dir = settings.home / (nested_key(settings.key, path) if path else settings.key)
        self._copy = GitDirectoryCopy(git_dir / "copy")
        self._directory = NestedGitDirectory(repository, path, outer=settings.common_dir, copy=self._copy)
        self.shadow = Shadow(repository, git_dir=git_dir, timeout_s=settings.timeout_s, lender=self._lender())
        self._recorder = Recorder(self.shadow, large_file_bytes=settings.large_file_bytes)
        pins, note = f"refs/spool/pin/{settings.key}/", self.shadow.git_dir / "changing-refs"
        self._user = UserRepository(repository, timeout_s=settings.timeout_s, pins=pins, note=note)
        self._pins = Pins(self._user.git, self._user.change_refs, pins)
        self._staging: dict[tuple[str | None, str | None], tuple[tuple[str, ...], str]] = {}
        self._safe: dict[str | None, list[str]] = {}
        """By HEAD, the trees of which the shadow has all that this HEAD has not."""
        self._mended: list[str] = []
        self._named: set[bytes] = set()

    def _lender(self) -> Path | None:
        """Return where objects may be borrowed from: not from where an agent removes them together with a folder."""
        if self.stranger:
            return self._copy.objects if self._copy.exists else None
        inside = self.path and self.repository.git_dir.is_relative_to(self.repository.top)
        return None if inside else self.repository.common_dir / "objects"

    async def is_itself(self, then: RepositoryPart) -> bool:
        """Whether what stands at its place is the repository that was recorded, and git can read it."""
        if self.stranger or not await in_thread(lambda _: self._directory.is_itself(then)):
            return False
        await self._mend(then)
        return await self._user.is_readable()

    async def take(
        self, then: RepositoryPart | None, *, lets_go: bool, proves: bool = True
    ) -> tuple[RepositoryPart, list[str]]:
        """Return this repository as it is now, and what could not be taken in; `then` is what a revert goes back to.

        Unless it proves that all objects are there, `keep` has to follow.
        """
        settings, repository = self._settings, self.repository
        written = await in_thread(lambda _: written_below(self.shadow.top))
        if self.stranger:
            recording = await self._record(then, lets_go=lets_go, proves=True, written=written)
            refs, unfinished = _NO_REFS, UnfinishedWork()
        else:
            await self._user.remove_own_locks()
            if then:
                await self._mend(then)
            record = self._record(then, lets_go=lets_go, proves=proves or not self.shadow.packs_prove, written=written)
            recording, (refs, unfinished) = await together(record, self._read_user())
        ignored = [name for name in recording.ignored if name not in written]
        saved, refused = await in_thread(lambda pulse: read_ignored(self.shadow.top, ignored, pulse))
        part = RepositoryPart(
            path=self.path,
            git_dir=settings.place_of(repository.git_dir),
            common_dir=settings.place_of(repository.common_dir),
            object_format=repository.object_format,
            link=link_of(repository.top / ".git"),
            mark=await in_thread(lambda _: self._directory.mark(new=then is None)) if self.path else "",
            tree=recording.tree,
            modes=recording.modes,
            refs=refs,
            log_size=log_size(repository.git_dir),
            unfinished=unfinished,
            ignored=recording.ignored,
            ignored_files=saved,
            left=sorted(recording.left),
            nested=recording.nested,
            grown=recording.grown,
            rules=self.shadow.rules,
            other_logs=self._user.other_logs(),
            essentials=read_essentials(repository),
            stranger=self.stranger,
        )
        left = recording.left | dict.fromkeys(written.intersection(recording.ignored), BEING_WRITTEN)
        return part, [*self._left_warnings(left), *self._ignored_warnings(refused)]

    async def _read_user(self) -> tuple[Refs, UnfinishedWork]:
        """Return refs, and the index with what is half-done, of the user's repository."""
        refs = await self._user.refs()
        found = await in_thread(lambda _: read_unfinished(self.repository.git_dir, self._settings.blobs))
        key = (found.index, refs.head.commit)
        if key not in self._staging:
            self._staging = {key: await read_staging(self._user, refs.head.commit)}
        staged, staging = self._staging[key]
        return refs, msgspec.structs.replace(found, staged=staged, staging=staging)

    async def _record(
        self, then: RepositoryPart | None, *, lets_go: bool, proves: bool, written: frozenset[bytes]
    ) -> Recording:
        """Record the tree; before a revert, folders of ours that an agent has closed are opened for that."""
        spare, rules = (spared([*then.ignored, *then.left]), then.rules) if then else (ExcludedPaths(), None)
        opened = await self._open(list(then.modes.folders) if then else [])
        record = partial(self._recorder.record, spare, lets_go=lets_go, rules=rules, proves=proves, written=written)
        recording = await record()
        while then and (more := await self._open(recording.closed)):
            opened |= more
            recording = await record()
        if opened:
            recording.modes.folders = recording.modes.folders | opened
        return recording

    async def _open(self, names: list[bytes]) -> dict[bytes, int]:
        return await in_thread(lambda _: open_folders(self.shadow.top, names)) if names else {}

    async def keep(self, owner: str, part: RepositoryPart, *, instead: RepositoryPart | None = None) -> Stale:
        """Make sure that a part outlives any `git gc`: pin what it borrows, copy the rest, and refer to its trees."""
        if self.stranger:
            await self.shadow.secure(part.tree, head=None, safe=set())
            await self.shadow.trees.hold(owner, {part.tree})
            return Stale(pins=set(), trees=set(), warnings=[])
        head, repository = part.refs.head.commit, self.repository
        heads = {oid for oid in (head, instead.refs.head.commit if instead else None) if oid}
        tips = set(part.refs.names.values())
        if instead:  # an agent may have removed objects, or written anything into a ref
            tips -= set(instead.refs.names.values())
            there = await self._user.existing(heads | tips)
            heads, tips, head = heads & there, tips & there, head if head in there else None
        more = sorted(tips - heads)[:MOST_PINS]
        half_done = oids_of(part.unfinished) - heads
        pinned = half_done & self._user.pinned(owner)  # so they exist
        named = pinned | await self._user.existing(half_done - pinned)
        wanted = {*heads, *more, *named, *await self._staged_tree(part)}
        pins = await self._pins.hold(owner, wanted, held=self._user.pinned(owner))
        safe = self._safe.setdefault(head, [])
        if part.tree not in safe:
            await self.shadow.secure(part.tree, head=head, safe=safe[-1:])  # each more is one more tree to walk
            safe.append(part.tree)
            if self.shadow.packs_prove:
                self.shadow.note_proved(part.tree)
        wanted = {part.tree, *([instead.tree] if instead else [])}
        trees = await self.shadow.trees.hold(owner, wanted)
        if self.path and not instead and repository.git_dir == repository.common_dir:
            await in_thread(lambda _: self._copy.update(repository.git_dir))
        missed = len(tips - heads) - len(more)
        warnings = [self._name(f"{missed} branches and tags are too many to be pinned")] if missed else []
        return Stale(pins=pins, trees=trees, warnings=warnings)

    async def read_pins(self) -> None:
        """Read what owners hold now: a ref that is already there cannot be made."""
        if not self.stranger and self._user.exists:
            await self._user.refs()

    async def drop_stale(self, owner: str, stale: Stale) -> None:
        """Release what only an earlier snapshot of the same owner needed."""
        self._safe = {head: trees for head, trees in self._safe.items() if head not in stale.pins}
        await self._pins.release(owner, stale.pins)
        await self.shadow.trees.release(owner, stale.trees)

    def forget(self) -> None:
        """Read every file anew the next time, and copy all that is borrowed again."""
        self.shadow.forget()
        self._safe.clear()

    async def release(self, owner: str) -> None:
        """Release everything that an owner held."""
        self._safe.clear()
        await self._user.remove_own_locks()
        for pins in self._all_pins():
            await pins.release(owner)
        if self.path and not self.shadow.holds_trees:
            self._copy.remove()

    async def tidy(self, owners: set[str]) -> None:
        """Release what belongs to none of these owners."""
        for pins in self._all_pins():
            for owner in await pins.owners() - owners:
                if not owner.startswith(GATES):
                    await pins.release(owner)
        if self.shadow.git_dir.is_dir():
            await self.shadow.tidy()
            self._safe.clear()

    def _all_pins(self) -> list[Pins]:
        """Return the pins here and in the user's repository, where these still exist."""
        in_user: list[Pins] = [self._pins] if self._user.exists else []
        return [*in_user, self.shadow.trees] if self.shadow.git_dir.is_dir() else in_user

    async def put_back(
        self, target: RepositoryPart, now: RepositoryPart | None, displaced: DisplacedFiles, own: DisplacedFiles
    ) -> list[str]:
        """Restore the repository to what the target holds; return what was left as it is."""
        repository, patience_s = self.repository, self._settings.timeout_s
        if self.path:
            await in_thread(lambda _: self._directory.exchange(target, displaced, own))
        if not self.stranger:
            await self._mend(target)
        if self._user.exists:
            await in_thread(lambda pulse: wait_for_lock(repository.git_dir, patience_s=patience_s, pulse=pulse))
        await self.shadow.prepare(target.rules)
        written = await in_thread(lambda _: written_below(self.shadow.top))
        tree = TreeRestorer(self._recorder, target, now, displaced, written)
        await tree.restore()
        new = [name for name in written if name not in target.left]
        tree.failed |= dict.fromkeys(self._unnamed(new), f"is {BEING_WRITTEN}: it is left as it is")
        if self.stranger:
            return self._listed(tree.failed)
        if not self._user.exists:
            gone = self._name("the repository itself is gone: its files are back, its history is not")
            return [gone, *self._listed(tree.failed)]
        left = await self._restore_refs(target)
        await in_thread(lambda _: restore_state_files(repository.git_dir, target.unfinished))
        await in_thread(
            lambda pulse: restore_index(
                repository.git_dir, target.unfinished, self._settings.blobs, patience_s=patience_s, pulse=pulse
            )
        )
        mended, self._mended = self._mended, []
        return [*mended, *self._listed(tree.failed), *self._listed(left)]

    async def _restore_refs(self, target: RepositoryPart) -> dict[bytes, str]:
        try:
            return await restore_refs(self._user, target.refs, log_size=target.log_size, other_logs=target.other_logs)
        except CommandFailed as error:
            return {b"HEAD": f"and refs cannot be brought back: {error}"}

    async def _mend(self, target: RepositoryPart) -> None:
        """Put HEAD and configuration back where git cannot read them: it would refuse everything else."""
        if self.repository.common_dir.is_dir():
            for folder in ("refs", "objects"):
                (self.repository.common_dir / folder).mkdir(exist_ok=True)
        broken = [name for name, kept in target.essentials.items() if content_of(self.repository, name) != kept]
        if not broken or not self.repository.git_dir.is_dir() or await self._user.is_readable():
            return
        for name in broken:
            aside = put_essential(self.repository, name, target.essentials[name])
            where = f"; what it held is in {aside}" if aside else ""
            self._mended.append(self._name(f".git/{name} could not be read by git: it is as it was{where}"))

    async def differences(self, before: str, after: str, *words: str) -> bytes:
        """Return git's diff from one tree to another, in the user's words but not with their tools."""
        return await self.shadow.git("diff", "--no-ext-diff", "--no-textconv", "--no-color", *words, before, after)

    async def changed(self, before: str, after: str) -> set[bytes]:
        """Return which files differ between two trees."""
        if before == after:
            return set()
        return {*await self.shadow.names("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after)}

    async def changes(self, before: str, after: str) -> list[NameChange]:
        """Return the files that differ between two trees."""
        if before == after:
            return []
        answer = await self.shadow.names("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)
        rows = [(row.split(b" "), name) for row, name in zip(answer[::2], answer[1::2], strict=True)]
        return [NameChange(name, row[4][:1], row[2].decode(), row[3].decode()) for row, name in rows]

    async def committed(self, commit: str, names: list[bytes]) -> dict[bytes, str]:
        """Return the contents that files have in a commit of the user's."""
        words = ["ls-tree", "-r", "-z", "--full-tree", commit]
        few: list[str | bytes] = ["--", *names] if len(names) <= _MOST_ASKED else []
        rows = [row.partition(b"\t") for row in (await self._user.git(*words, *few)).split(b"\0") if row]
        return {name: head.split(b" ")[2].decode() for head, _, name in rows}

    async def aimed(self, then: RepositoryPart, now: RepositoryPart, own: Own) -> HeadAim:
        """Return a beginning as it is to be restored."""
        if self.stranger or now.stranger or not self._user.exists:
            return HeadAim(part=then)
        aim = await aim_at(self._user, then, now, own)
        return msgspec.structs.replace(aim, staying=self._name(aim.staying) if aim.staying else "")

    async def _staged_tree(self, part: RepositoryPart) -> set[str]:
        """Return a tree, in the user's repository, of the objects that only their index names; a ref can hold that."""
        if not part.unfinished.staged:
            return set()
        rows = b"".join(b"100644 blob %b\t%d\0" % (oid.encode(), n) for n, oid in enumerate(part.unfinished.staged))
        return {(await self._user.git("mktree", "-z", stdin=rows)).decode().strip()}

    def _listed(self, named: dict[bytes, str]) -> list[str]:
        """Return a warning for each name, and one for all beyond the first."""
        lines = [self._name(f"{shown(name) or 'the top folder'} {why}") for name, why in named.items()]
        more = [self._name(f"{len(lines) - _MOST_NAMED} more could not be brought back")]
        return [*lines[:_MOST_NAMED], *more] if len(lines) > _MOST_NAMED else lines

    def _left_warnings(self, left: dict[bytes, str]) -> list[str]:
        """Return a warning for each thing that is left alone, or one for many with the same reason."""
        written = self._unnamed([name for name, why in left.items() if why == BEING_WRITTEN])
        reasons: dict[str, list[str]] = {}
        for name, why in left.items():
            if why != BEING_WRITTEN or name in written:
                reasons.setdefault(why, []).append(shown(name.rstrip(b"/")))
        few = [
            f"{name} is {why}: it is neither saved nor touched"
            for why, names in reasons.items()
            if len(names) <= _FEW_NAMED
            for name in names
        ]
        many = [
            f"{len(names)} are {why}, {', '.join(names[:3])} among them: they are neither saved nor touched"
            for why, names in reasons.items()
            if len(names) > _FEW_NAMED
        ]
        return [self._name(text) for text in [*few, *many]]

    def _unnamed(self, names: list[bytes]) -> list[bytes]:
        """Return the files being written that were not named before: they are named once, not at each save."""
        new = [name for name in names if name not in self._named]
        self._named.update(new)
        return new

    def _ignored_warnings(self, refused: list[bytes]) -> list[str]:
        if not refused:
            return []
        first = ", ".join(shown(name) for name in refused[:3])
        return [self._name(f"ignored files that are not saved, for their size or number: {len(refused)} ({first} …)")]

    def _name(self, text: str) -> str:
        return f"{shown(self.path)}: {text}" if self.path else text
