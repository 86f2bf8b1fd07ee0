"""Save, revert and drop for one change in one working tree, and the attempts that reverts have discarded.

Whoever calls this holds the lock of the working tree. Every step can be killed: a snapshot is complete before it is
named, and a revert that was cut short is due: whatever comes next in the tree finishes it first.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import msgspec

from spool.domain.loop.checkpoint import Checkpoint, Discarded
from spool.domain.text.plain_text import counted
from spool.errors import CheckpointError, CommandFailed
from spool.host.git.checkpoints.nested.repository_checkpoint import Stale
from spool.host.git.checkpoints.nested.repository_set import RepositorySet
from spool.host.git.checkpoints.part_comparison import is_same, loses_nothing
from spool.host.git.checkpoints.record.recorder import LARGE_FILE_BYTES
from spool.host.git.checkpoints.restore.displaced_files import DisplacedFiles
from spool.host.git.checkpoints.restore.unfinished import Blobs
from spool.host.git.checkpoints.snapshot import (
    DueRestore,
    RepositoryPart,
    Snapshot,
    Snapshots,
    TreeSettings,
    as_checkpoint,
    as_discarded,
    slug,
)
from spool.host.git.checkpoints.worktree_identity import WorktreeIdentity
from spool.host.git.repository import Repository
from spool.host.threads import Pulse, in_thread

KEPT_FOR = timedelta(days=14)
_Result = TypeVar("_Result")


class Checkpoints:
    """The loop's port."""

    def __init__(
        self,
        repository: Repository,
        change: str,
        *,
        now: Callable[[], datetime],
        timeout_s: float,
        large_file_bytes: int = LARGE_FILE_BYTES,
    ) -> None:
        self._identity = WorktreeIdentity(repository)
        key = self._identity.key
        home = repository.spool_dir / "shadow"
        self._folder = home / key / "spool"
        self._change = change
        self._owner = slug(change)
        self._now = now
        self._blobs = Blobs(self._folder / "blobs")
        self._due = DueRestore(self._folder / "reverting")
        self._saved = Snapshots(self._folder / "checkpoints")
        self._kept = Snapshots(self._folder / "discarded")
        self.begun = Snapshots(self._folder / "beginnings")
        settings = TreeSettings(
            home=home,
            key=key,
            top=repository.top,
            common_dir=repository.common_dir,
            blobs=self._blobs,
            timeout_s=timeout_s,
            large_file_bytes=large_file_bytes,
        )
        self._repositories = RepositorySet(repository, settings)
        self._named: set[str] = set()
        """The warnings of a beginning: a checkpoint does not repeat them."""

    async def save(self, label: str) -> Checkpoint:
        """Save the working tree, in place of this change's last checkpoint; it is safe when this returns."""
        self._identity.claim()
        await self.finish()
        snapshot, stale = await self._or_anew(lambda: self._take(label))
        await in_thread(lambda _: self._saved.save(snapshot))
        await self._drop_stale(snapshot, stale)
        new = tuple(warning for warning in snapshot.warnings if warning not in self._named)
        return as_checkpoint(msgspec.structs.replace(snapshot, warnings=new), half_reverted=False)

    async def current(self) -> Checkpoint | None:
        """Return this change's checkpoint, for example one that a dead run left."""
        snapshot = await self.saved_snapshot()
        if snapshot is None:
            return None
        return as_checkpoint(snapshot, half_reverted=self._due.load().target == self._owner)

    async def saved(self) -> list[Checkpoint]:
        """Return the checkpoints that loops hold in this working tree, of all its changes."""
        self._identity.check()
        found = [self._saved.load(name) for name in self._saved.names()]
        marked = self._due.load().target
        return [as_checkpoint(one, half_reverted=marked == one.name) for one in found if one]

    async def revert(self, checkpoint: Checkpoint) -> Discarded | None:
        """Restore the working tree; return what was discarded, or None if there was nothing to discard."""
        target = await self.saved_snapshot()
        if target is None or target.top.tree != checkpoint.tree:
            raise CheckpointError(f"there is no such checkpoint of '{self._change}' any more: '{checkpoint.label}'")
        return await self.go_to(target, checkpoint.label)

    async def differs(self, checkpoint: Checkpoint) -> bool:  # noqa: ARG002 - there is one at most
        """Whether a revert would change anything in the working tree."""
        target = await self.saved_snapshot()
        if target is None:
            return False
        return not is_same(await self.parts_now(target), target.parts)

    async def set_aside(self, checkpoint: Checkpoint) -> str:
        """Keep a checkpoint that the next one replaces, like a discarded attempt, and return its name."""
        saved = await self.saved_snapshot()
        if saved is None:
            raise CheckpointError(f"there is no such checkpoint of '{self._change}' any more: '{checkpoint.label}'")
        now = await self.parts_now(saved)
        return await self.put_aside(saved, now, f"the checkpoint of {saved.label}, before the tree was kept")

    async def put_aside(self, saved: Snapshot, now: list[RepositoryPart], label: str) -> str:
        """Keep any snapshot like a discarded attempt, under a new name, which is returned."""
        at = self._now()
        trees = {part.path: part for part in now}
        kept = msgspec.structs.replace(
            saved,
            name=self._kept.new_name(self._owner, at),
            at=saved.ended or at,
            label=label,
            instead={part.path: trees[part.path].tree for part in saved.parts if part.path in trees},
            instead_head=now[0].refs.head.commit,
            files=await self._repositories.count([part for part in saved.parts if part.path in trees], trees),
        )
        await self._keep(kept, None)
        await in_thread(partial(self._save_attempt, kept))
        return kept.name

    async def snapshot(self, name: str, label: str) -> Snapshot:
        """Return the tree, held but not yet saved as a beginning, with what cannot be saved."""
        self._identity.claim()

        async def held() -> Snapshot:
            parts, warnings = await self._repositories.take(None, proves=False)
            taken = Snapshot(name=name, change=self._change, label=label, at=self._now(), parts=parts)
            await self._keep(taken, None)
            self._named.update(warnings)
            return msgspec.structs.replace(taken, warnings=tuple(warnings))

        return await self._or_anew(held)

    async def begin(self, snapshot: Snapshot) -> None:
        """Keep a snapshot as a beginning; an earlier one of the same name is set aside if it holds anything else."""
        old = self.begun.load(snapshot.name)
        if old is not None and not is_same(old.parts, snapshot.parts):
            await self.put_aside(old, snapshot.parts, f"the beginning of {old.label}")
        for part in snapshot.parts:
            await self._repositories.at(part).read_pins()
        stale = await self._keep(snapshot, None)
        await in_thread(lambda _: self.begun.save(snapshot))
        await self._drop_stale(snapshot, stale)

    async def end(self, beginning: Snapshot) -> None:
        """Release a beginning."""
        await in_thread(lambda _: self.begun.remove(beginning.name))
        await self._release(beginning)

    async def parts_now(self, target: Snapshot) -> list[RepositoryPart]:
        """Return the tree as it is now, on the way to a target."""
        self._identity.check()
        return (await self._or_anew(lambda: self._repositories.take(target)))[0]

    async def finish_cut_short(self) -> str:
        """Finish a restore or an undo that was killed; return what it was on its way to, or an empty text."""
        name = self._due.load().target
        target = (self.begun.load(name) or self._kept.load(name)) if name != self._owner else None
        if target is None:
            return ""
        await self.finish()
        return target.label

    async def drop(self, checkpoint: Checkpoint | None = None) -> None:  # noqa: ARG002 - there is one at most
        """Release the checkpoint: the work is good."""
        if self._due.load().target == self._owner:  # half a revert is not work
            await self.finish()
        snapshot = await self.saved_snapshot()
        await in_thread(lambda _: self._saved.remove(self._owner))
        if snapshot is not None:
            await self._release(snapshot)
            await in_thread(lambda _: self._blobs.keep_only(self._blobs_in_use()))

    async def cleanup(self) -> None:
        """Drop the checkpoint, and remove what a run that was killed may have left."""
        await self.drop()
        await in_thread(lambda _: self._blobs.keep_only(self._blobs_in_use()))
        owners = {*self._saved.names(), *self._kept.names(), *self.begun.names()}
        await self._repositories.tidy(owners)

    async def discarded(self, *, accepted: bool = False) -> list[Discarded]:
        """Return the discarded attempts of this working tree, of all its changes, the oldest first.

        With `accepted`, return the beginnings of accepted stories instead, which are kept in the same way.
        """
        self._identity.check()
        found = [one for one in await in_thread(lambda _: self._attempts()) if (one.ended is not None) == accepted]
        return [as_discarded(one) for one in sorted(found, key=lambda one: (one.at, len(one.name), one.name))]

    async def cut_short(self) -> str | None:
        """Return to what a revert or a restore was on its way when it was cut: a change, or a discarded attempt."""
        return self._due.load().target or None

    async def finish(self) -> Discarded | None:
        """Finish a revert or a restore that was cut short; return what it has discarded."""
        if not (due := self._due.load()).target:
            return None
        self._identity.check()
        folders = (self._saved, self.begun, self._kept)
        target = next((one for folder in folders if (one := folder.load(due.target))), None)
        if target is None:  # it was let go since: nothing is left to go to
            self._due.clear()
            return None
        discarded = await self.go_to(target, f"edited before {target.name} was restored in full")
        self.begun.remove(target.name)
        return discarded

    async def show(self, name: str) -> str:
        """Return what a discarded attempt was, and which files it had changed."""
        snapshot = self._find(name)
        head = snapshot.top.refs.head
        commits = "" if head.commit == snapshot.instead_head else f", on {head.commit}"
        files = counted(snapshot.files, "file")
        lines = [
            f"{snapshot.name}: discarded {snapshot.at.astimezone():%Y-%m-%d %H:%M:%S}, {files}{commits}",
            f"change {snapshot.change}, {snapshot.label}",
            *snapshot.warnings,
        ]
        return "\n".join(lines) + "\n\n" + await self._difference(snapshot, "--stat")

    async def diff(self, name: str) -> str:
        """Return what a discarded attempt had changed, as a patch."""
        return await self._difference(self._find(name))

    async def restore(self, name: str) -> Discarded | None:
        """Restore a discarded attempt into the tree. What is there now is kept in its turn."""
        target = self._find(name)
        return await self.go_to(target, f"before {name} was restored")

    async def expire(self, now: datetime) -> int:
        """Release attempts discarded, and beginnings accepted, more than 14 days ago; return how many attempts."""
        self._identity.check()
        begun = [one for name in self.begun.names() if (one := self.begun.load(name))]
        for beginning in [one for one in begun if one.ended and one.ended < now - KEPT_FOR]:
            await self.end(beginning)
        old = [one for one in await in_thread(lambda _: self._attempts()) if one.at < now - KEPT_FOR]
        for snapshot in old:
            await in_thread(partial(self._forget_attempt, snapshot.name))
            await self._release(snapshot)
        await in_thread(lambda _: self._blobs.keep_only(self._blobs_in_use()))
        return len(old)

    async def _take(self, label: str) -> tuple[Snapshot, list[Stale]]:
        parts, warnings = await self._repositories.take(None, proves=False)
        snapshot = Snapshot(name=self._owner, change=self._change, label=label, at=self._now(), parts=parts)
        stale = await self._keep(snapshot, None)
        warnings += [warning for one in stale for warning in one.warnings]
        return msgspec.structs.replace(snapshot, warnings=tuple(warnings)), stale

    async def _or_anew(self, work: Callable[[], Awaitable[_Result]]) -> _Result:
        """Do something with a new record of the tree; if git fails, read every file anew and do it once more."""
        try:
            return await work()
        except CommandFailed:
            self._repositories.forget()
            return await work()

    async def saved_snapshot(self) -> Snapshot | None:
        """Return this change's checkpoint with all that it holds."""
        self._identity.check()
        return await in_thread(lambda _: self._saved.load(self._owner))

    def _attempts(self) -> list[Snapshot]:
        return [one for name in self._kept.names() if (one := self._kept.load(name))]

    def _forget_attempt(self, name: str, _: Pulse) -> None:
        self._kept.remove(name)
        self._displaced(name).remove()

    @property
    def repositories(self) -> RepositorySet:
        """The repositories of the working tree."""
        return self._repositories

    def name_of(self, what: str) -> str:
        """Return the name of a beginning of this change."""
        return f"{self._owner}.{what}"

    async def go_to(self, target: Snapshot, label: str) -> Discarded | None:
        """Keep the tree as it is, then bring another one back. A revert to elsewhere that is due comes first."""
        if self._due.load().target not in ("", target.name):
            await self.finish()
        at, due = self._now(), self._due.load()
        name = due.attempt or self._kept.new_name(self._owner, at)
        parts, kept = await self._or_anew(lambda: self._take_attempt(target, name=name, label=label, at=at))
        name = kept.name if kept else name
        await in_thread(lambda _: self._due.save(target.name, name))
        aside, own = self._displaced(name), self._displaced(target.name)
        warnings = await self._repositories.put_back(target, parts, aside, own)
        await in_thread(lambda _: self._repositories.bring_back(own, aside))
        self._due.clear()
        if kept is None and (warnings or aside.used):
            kept = await self._keep_attempt(parts, target, name=name, label=label, at=at, always=True)
        if kept is None:
            return None
        if warnings:
            kept = msgspec.structs.replace(kept, warnings=tuple(warnings))
            await in_thread(partial(self._save_attempt, kept))
        return as_discarded(kept)

    def _save_attempt(self, snapshot: Snapshot, _: Pulse) -> None:
        self._kept.save(snapshot)

    def _displaced(self, name: str) -> DisplacedFiles:
        return DisplacedFiles(self._folder / "aside" / name)

    async def _take_attempt(
        self, target: Snapshot, *, name: str, label: str, at: datetime
    ) -> tuple[list[RepositoryPart], Snapshot | None]:
        parts, _ = await self._repositories.take(target, proves=False)
        if (begun := self._kept.load(name)) is not None:  # half of the way is done; what is new on it is a person's
            if not await self._repositories.holds_more(parts, begun.parts, target.parts):
                return parts, begun
            name = self._kept.new_name(self._owner, at)
        return parts, await self._keep_attempt(parts, target, name=name, label=label, at=at)

    async def _keep_attempt(
        self,
        parts: list[RepositoryPart],
        target: Snapshot,
        *,
        name: str,
        label: str,
        at: datetime,
        always: bool = False,
    ) -> Snapshot | None:
        """Keep the tree under a name of its own, unless it holds nothing that the target has not."""
        before = {part.path: part for part in target.parts}
        there = {part.path for part in parts}
        if not always and there == before.keys() and all(loses_nothing(part, before[part.path]) for part in parts):
            return None
        files = await self._repositories.count(parts, before)
        snapshot = Snapshot(
            name=name,
            change=self._change,
            label=label,
            at=at,
            parts=parts,
            instead={path: part.tree for path, part in before.items() if path in there},
            instead_head=target.top.refs.head.commit,
            files=files,
        )
        await self._keep(snapshot, target)
        await in_thread(partial(self._save_attempt, snapshot))
        return snapshot

    async def _keep(self, snapshot: Snapshot, instead: Snapshot | None) -> list[Stale]:
        before = {part.path: part for part in instead.parts} if instead else {}
        return [
            await self._repositories.at(part).keep(snapshot.name, part, instead=before.get(part.path))
            for part in snapshot.parts
        ]

    async def _drop_stale(self, snapshot: Snapshot, stale: list[Stale]) -> None:
        for part, one in zip(snapshot.parts, stale, strict=True):
            await self._repositories.at(part).drop_stale(snapshot.name, one)

    async def _release(self, snapshot: Snapshot) -> None:
        for part in snapshot.parts:
            await self._repositories.at(part).release(snapshot.name)

    async def _difference(self, snapshot: Snapshot, *words: str) -> str:
        return await self._repositories.difference(snapshot.parts, snapshot.instead, *words)

    def _find(self, name: str) -> Snapshot:
        self._identity.check()
        return self._kept.find(name)

    def _blobs_in_use(self) -> set[str]:
        folders = (self._saved, self._kept, self.begun)
        snapshots = [one for folder in folders for one in map(folder.load, folder.names()) if one]
        unfinished = [part.unfinished for one in snapshots for part in one.parts]
        return {name for one in unfinished for name in (one.index, *one.shared.values()) if name}
