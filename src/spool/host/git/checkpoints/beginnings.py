"""The beginnings of one change in one working tree: trees that no attempt moves, and their restoring.

Whoever calls this holds the lock of the working tree.
"""

import os
from collections.abc import Callable
from datetime import datetime

import msgspec

from spool.domain.loop.checkpoint import Beginning, Begun, Discarded, Losses, Undo
from spool.domain.text.plain_text import counted
from spool.errors import CheckpointError
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.checkpoints.part_comparison import is_same
from spool.host.git.checkpoints.paths import shown
from spool.host.git.checkpoints.record.ignored import Saved
from spool.host.git.checkpoints.record.lost_files import find_losses
from spool.host.git.checkpoints.restore.head_aim import HeadAim, Own
from spool.host.git.checkpoints.snapshot import RepositoryPart, Snapshot, as_begun
from spool.host.state.loop_files import OWN_FILES
from spool.host.threads import in_thread

_NAMED = 5
_GOING = "undo"
"""The end of a target's name while the tree is on its way there."""


class Beginnings:
    """Keeps the tree before the run and before a story, and restores it."""

    def __init__(self, checkpoints: Checkpoints, *, now: Callable[[], datetime]) -> None:
        self._checkpoints = checkpoints
        self._begun = checkpoints.begun
        self._now = now
        self._run: Snapshot | None = None
        """The tree before the run, until an agent starts."""
        self._anew = False

    async def begin_run(self, *, anew: bool) -> tuple[str, ...]:
        """Keep the tree as the run's beginning, and return what could not be saved, unless the last run named it.

        With `anew`, the next story has a beginning of its own, whether the one before was accepted or not.
        """
        taken, last = await self._checkpoints.snapshot(self._name(Beginning.RUN), "the run"), self._load(Beginning.RUN)
        parts = [msgspec.structs.replace(part, ignored_files=_not_own(part)) for part in taken.parts]
        self._run, self._anew = msgspec.structs.replace(taken, parts=parts), anew
        known = last.warnings if last else ()
        named = [warning for warning in taken.warnings if warning not in known]
        folders = _ignored_folders(parts)
        if set(folders).difference(_ignored_folders(last.parts if last else [])):
            first = ", ".join(folders[:_NAMED]) + (" …" if len(folders) > _NAMED else "")
            count = counted(len(folders), "ignored folder")
            named.append(f"not saved, and lost if an agent deletes them: {count} ({first})")
        return tuple(named)

    async def begin_attempt(self, story: str = "") -> None:
        """Keep the run's beginning, before its first agent; and the checkpoint as that of a story, before its first.

        A run that starts no agent leaves the beginning of the run before. A story that is not accepted keeps its own.
        """
        if self._run is not None:
            await self._checkpoints.begin(self._run)
            if self._anew and (last := self._load(Beginning.STORY)):
                await self._checkpoints.put_aside(last, self._run.parts, f"the beginning of {last.label}")
                await self._checkpoints.end(last)
            self._run = None
        if story:
            await self._begin_story(story)

    async def _begin_story(self, label: str) -> None:
        old = self._load(Beginning.STORY)
        saved = await self._checkpoints.saved_snapshot() if old is None or old.ended else None
        if saved is not None:
            name = self._name(Beginning.STORY)
            await self._checkpoints.begin(msgspec.structs.replace(saved, name=name, label=label, at=self._now()))

    async def accept(self, what: Beginning) -> None:
        """Note that the work since then is accepted: the beginning is let go in 14 days, its ignored files now."""
        begun = self._load(what)
        if begun is not None and begun.ended is None:
            parts = [msgspec.structs.replace(part, ignored_files={}) for part in begun.parts]
            ended = msgspec.structs.replace(begun, parts=parts, ended=self._now())
            await in_thread(lambda _: self._begun.save(ended))

    async def losses(self) -> Losses:
        """Return what of a person's is gone or overwritten since the beginning, and is in no commit."""
        story, run = self._load(Beginning.STORY), self._load(Beginning.RUN)
        began = run if story is None or story.ended else story
        if began is None:
            return Losses()
        now = await self._checkpoints.parts_now(began)
        return await find_losses(self._checkpoints.repositories, began, run, now)

    async def all(self) -> list[Begun]:
        """Return the beginnings in this working tree, of all its changes."""
        found = [self._begun.load(name) for name in self._begun.names()]
        return [as_begun(one) for one in found if one and not one.name.endswith(f".{_GOING}")]

    async def preview(self, what: Beginning, own: Own) -> Undo:
        """Return what going back would change; `own` knows the times of the loop's commits."""
        target, now, aims = await self._aimed(what, own)
        before = {part.path: part for part in now}
        changes = [
            change
            for path, aim in aims.items()
            if path in before
            for change in await self._changes(aim.part, before[path])
        ]
        return Undo(
            begun=as_begun(target),
            back=tuple(name for status, name in changes if status == b"A"),
            changed=tuple(name for status, name in changes if status not in (b"A", b"D")),
            removed=tuple(name for status, name in changes if status == b"D"),
            commits=tuple(oid for aim in aims.values() for oid in aim.commits),
            staying=tuple(aim.staying for aim in aims.values() if aim.staying),
            needed=not is_same(now, [aim.part for aim in aims.values()]),
        )

    async def undo(self, what: Beginning, own: Own) -> Discarded | None:
        """Restore a beginning; return what it replaced, which is kept like a discarded attempt."""
        begun, _, aims = await self._aimed(what, own)
        parts = [aim.part for aim in aims.values()]
        # Where HEAD goes is decided once: whoever finishes an undo that was killed finds the target on disk.
        target = msgspec.structs.replace(begun, name=self._name(_GOING), parts=parts)
        await in_thread(lambda _: self._begun.save(target))
        kept = await self._checkpoints.go_to(target, f"before going back to the beginning of {begun.label}")
        await in_thread(lambda _: self._begun.remove(target.name))
        return kept

    async def finish_cut_short(self) -> str:
        """Finish an undo or a restore that was killed; return what it was on its way to, or an empty text."""
        finished = await self._checkpoints.finish_cut_short()
        await in_thread(lambda _: self._begun.remove(self._name(_GOING)))
        return finished

    async def _aimed(self, what: Beginning, own: Own) -> tuple[Snapshot, list[RepositoryPart], dict[bytes, HeadAim]]:
        target = self._load(what)
        if target is None:
            raise CheckpointError(f"no beginning of a {what} is kept here")
        parts = await self._checkpoints.parts_now(target)
        now = {part.path: part for part in parts}
        aims = {}
        for part in target.parts:
            here = self._checkpoints.repositories.at(part)
            aims[part.path] = await here.aimed(part, now[part.path], own) if part.path in now else HeadAim(part=part)
        return target, parts, aims

    async def _changes(self, target: RepositoryPart, now: RepositoryPart) -> list[tuple[bytes, str]]:
        """Return the names that differ on the way to a target: A for those that return, D for those that go."""
        found = await self._checkpoints.repositories.at(target).changes(now.tree, target.tree)
        changes = [(one.status, one.name) for one in found]
        for name, kept in target.ignored_files.items():
            if now.ignored_files.get(name) != kept:
                changes.append((b"M" if name in now.ignored_files else b"A", name))
        prefix = target.path + b"/" if target.path else b""
        return [(status, shown(prefix + name)) for status, name in changes]

    def _load(self, what: Beginning) -> Snapshot | None:
        return self._begun.load(self._name(what))

    def _name(self, what: str) -> str:
        return self._checkpoints.name_of(what)


def _not_own(part: RepositoryPart) -> Saved:
    """Return the ignored files without those in which a worktree loop says where it stands: they are Spool's."""
    own = {os.fsencode(name) for name in OWN_FILES} if not part.path else set()
    return {name: kept for name, kept in part.ignored_files.items() if name not in own}


def _ignored_folders(parts: list[RepositoryPart]) -> list[str]:
    """Return the ignored folders, which are not saved, but for Spool's own."""
    found = ((part.path, name) for part in parts for name in part.ignored if name.endswith(b"/"))
    return [shown(path + b"/" + name if path else name) for path, name in found if not name.startswith(b".spool/")]
