"""Save, revert and drop for one change in one working tree, and the attempts that reverts have discarded.

Whoever calls this holds the lock of the working tree. Every step can be killed: a snapshot is complete before it is
named, and a revert that was cut short ends the same when it is done again.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from spool.domain.checkpoint import Checkpoint, Discarded
from spool.domain.text import counted
from spool.errors import CheckpointError, CommandFailed
from spool.host.git.checkpoints.displaced_files import DisplacedFiles
from spool.host.git.checkpoints.recorder import LARGE_FILE_BYTES
from spool.host.git.checkpoints.repository_checkpoint import Stale, TreeSettings, same_work
from spool.host.git.checkpoints.repository_set import RepositorySet
from spool.host.git.checkpoints.snapshot import Part, Snapshot, Snapshots, slug
from spool.host.git.checkpoints.unfinished import Blobs
from spool.host.git.checkpoints.worktree_identity import WorktreeIdentity
from spool.host.git.repository import Repository
from spool.host.state.files import replace_file
from spool.host.threads import Pulse, in_thread

KEPT_FOR = timedelta(days=14)
_Result = TypeVar("_Result")


class Checkpoints:
    """What the loop uses."""

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
        self._saved = Snapshots(self._folder / "checkpoints")
        self._kept = Snapshots(self._folder / "discarded")
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

    async def save(self, label: str) -> Checkpoint:
        """Save the working tree, in place of this change's last checkpoint; it is safe when this returns."""
        self._identity.claim()
        snapshot, stale = await self._or_anew(lambda: self._take(label))
        await in_thread(lambda _: self._saved.save(snapshot))
        self._marker.unlink(missing_ok=True)
        await self._drop_stale(snapshot, stale)
        return _checkpoint(snapshot, half_reverted=False)

    async def current(self) -> Checkpoint | None:
        """Return this change's checkpoint, for example one that a dead run left."""
        snapshot = await self._load()
        if snapshot is None:
            return None
        return _checkpoint(snapshot, half_reverted=self._half_reverted() == self._owner)

    async def saved(self) -> list[Checkpoint]:
        """Return the checkpoints that loops hold in this working tree, of all its changes."""
        self._identity.check()
        found = [self._saved.load(name) for name in self._saved.names()]
        marked = self._half_reverted()
        return [_checkpoint(one, half_reverted=marked == one.name) for one in found if one]

    async def revert(self, checkpoint: Checkpoint) -> Discarded | None:
        """Bring the working tree back; return what was discarded, or None if there was nothing to discard."""
        target = await self._load()
        if target is None or target.top.tree != checkpoint.tree:
            raise CheckpointError(f"there is no such checkpoint of '{self._change}' any more: '{checkpoint.label}'")
        return await self._go_to(target, checkpoint.label)

    async def differs(self, checkpoint: Checkpoint) -> bool:  # noqa: ARG002 - there is one at most
        """Whether a revert would change anything in the working tree."""
        target = await self._load()
        if target is None:
            return False
        parts, _ = await self._or_anew(lambda: self._repositories.take(target))
        before = {part.path: part for part in target.parts}
        same = {part.path for part in parts} == before.keys()
        return not same or not all(same_work(part, before[part.path]) for part in parts)

    async def set_aside(self, checkpoint: Checkpoint) -> str:
        """Keep a checkpoint that the next one replaces, like a discarded attempt, and return its name."""
        saved = await self._load()
        if saved is None:
            raise CheckpointError(f"there is no such checkpoint of '{self._change}' any more: '{checkpoint.label}'")
        at = self._now()
        now, _ = await self._or_anew(lambda: self._repositories.take(saved))
        trees = {part.path: part for part in now}
        kept = msgspec.structs.replace(
            saved,
            name=self._new_name(at),
            at=at,
            label=f"the checkpoint of {saved.label}, before the tree was kept",
            instead={part.path: trees[part.path].tree for part in saved.parts if part.path in trees},
            instead_head=now[0].refs.head.commit,
            files=await self._repositories.count([part for part in saved.parts if part.path in trees], trees),
        )
        await self._keep(kept, None)
        await in_thread(partial(self._save_attempt, kept))
        return kept.name

    async def drop(self, checkpoint: Checkpoint | None = None) -> None:  # noqa: ARG002 - there is one at most
        """Let go of the checkpoint: the work is good."""
        snapshot = await self._load()
        await in_thread(lambda _: self._saved.remove(self._owner))
        if self._half_reverted() == self._owner:
            self._marker.unlink(missing_ok=True)
        if snapshot is not None:
            await self._release(snapshot)
            await in_thread(lambda _: self._blobs.keep_only(self._blobs_in_use()))

    async def cleanup(self) -> None:
        """Drop the checkpoint, and remove what a run that was killed may have left."""
        await self.drop()
        await in_thread(lambda _: self._blobs.keep_only(self._blobs_in_use()))
        owners = {*self._saved.names(), *self._kept.names()}
        await self._repositories.tidy(owners)

    async def discarded(self) -> list[Discarded]:
        """Return the discarded attempts of this working tree, of all its changes, the oldest first."""
        self._identity.check()
        found = await in_thread(lambda _: self._attempts())
        return [_discarded(one) for one in sorted(found, key=lambda one: (one.at, len(one.name), one.name))]

    async def cut_short(self) -> str | None:
        """Return to what a revert or a restore was on its way when it was killed: a change, or a discarded attempt."""
        return self._half_reverted() or None

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
        """Bring a discarded attempt back into the tree. What is there now is kept in its turn."""
        target = self._find(name)
        return await self._go_to(target, f"before {name} was restored")

    async def expire(self, now: datetime) -> int:
        """Let go of attempts that were discarded more than 14 days ago; return how many."""
        self._identity.check()
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

    async def _load(self) -> Snapshot | None:
        self._identity.check()
        return await in_thread(lambda _: self._saved.load(self._owner))

    def _attempts(self) -> list[Snapshot]:
        return [one for name in self._kept.names() if (one := self._kept.load(name))]

    def _forget_attempt(self, name: str, _: Pulse) -> None:
        self._kept.remove(name)
        self._displaced(name).remove()

    @property
    def _marker(self) -> Path:
        """Says that a revert is under way."""
        return self._folder / "reverting"

    def _half_reverted(self) -> str:
        with suppress(FileNotFoundError):
            return self._marker.read_text("utf-8")
        return ""

    async def _go_to(self, target: Snapshot, label: str) -> Discarded | None:
        """Keep the tree as it is, then bring another one back."""
        at = self._now()
        name = self._new_name(at)
        parts, kept = await self._or_anew(lambda: self._take_attempt(target, name=name, label=label, at=at))
        await in_thread(lambda _: replace_file(self._marker, target.name.encode()))
        aside, own = self._displaced(name), self._displaced(target.name)
        warnings = await self._repositories.put_back(target, parts, aside, own)
        await in_thread(lambda _: self._repositories.bring_back(own, aside))
        self._marker.unlink(missing_ok=True)
        if kept is None and (warnings or aside.used):
            kept = await self._keep_attempt(parts, target, name=name, label=label, at=at, always=True)
        if kept is None:
            return None
        if warnings:
            kept = msgspec.structs.replace(kept, warnings=tuple(warnings))
            await in_thread(partial(self._save_attempt, kept))
        return _discarded(kept)

    def _save_attempt(self, snapshot: Snapshot, _: Pulse) -> None:
        self._kept.save(snapshot)

    def _displaced(self, name: str) -> DisplacedFiles:
        return DisplacedFiles(self._folder / "aside" / name)

    async def _take_attempt(
        self, target: Snapshot, *, name: str, label: str, at: datetime
    ) -> tuple[list[Part], Snapshot | None]:
        parts, _ = await self._repositories.take(target, proves=False)
        return parts, await self._keep_attempt(parts, target, name=name, label=label, at=at)

    async def _keep_attempt(
        self, parts: list[Part], target: Snapshot, *, name: str, label: str, at: datetime, always: bool = False
    ) -> Snapshot | None:
        """Keep the tree under a name of its own, unless it holds nothing that the target has not."""
        before = {part.path: part for part in target.parts}
        there = {part.path for part in parts}
        if not always and there == before.keys() and all(same_work(part, before[part.path]) for part in parts):
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
        names = self._kept.names()
        found = [name] if name in names else [one for one in names if name and one.startswith(name)]
        if len(found) > 1:
            raise CheckpointError(f"'{name}' is ambiguous: {', '.join(sorted(found))}", hint="give more of the name")
        snapshot = self._kept.load(found[0]) if found else None
        if snapshot is None:
            raise CheckpointError(f"there is no discarded attempt '{name}'", hint="spool checkpoint list names them")
        return snapshot

    def _new_name(self, at: datetime) -> str:
        taken = set(self._kept.names())
        name = base = f"{self._owner}.{at:%Y%m%d-%H%M%S}"
        number = 1
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        return name

    def _blobs_in_use(self) -> set[str]:
        snapshots = [one for folder in (self._saved, self._kept) for one in map(folder.load, folder.names()) if one]
        unfinished = [part.unfinished for one in snapshots for part in one.parts]
        return {name for one in unfinished for name in (one.index, *one.shared.values()) if name}


def _checkpoint(snapshot: Snapshot, *, half_reverted: bool) -> Checkpoint:
    return Checkpoint(
        change=snapshot.change,
        label=snapshot.label,
        saved_at=snapshot.at,
        tree=snapshot.top.tree,
        head=snapshot.top.refs.head.commit,
        warnings=snapshot.warnings,
        half_reverted=half_reverted,
    )


def _discarded(snapshot: Snapshot) -> Discarded:
    return Discarded(
        name=snapshot.name,
        change=snapshot.change,
        label=snapshot.label,
        discarded_at=snapshot.at,
        files=snapshot.files,
        head=snapshot.top.refs.head.commit,
        warnings=snapshot.warnings,
    )
