"""All repositories of one working tree: its own, and those nested in it."""

import os

import msgspec

from spool.errors import CommandFailed
from spool.host.git.checkpoints.nested.repository_checkpoint import RepositoryCheckpoint
from spool.host.git.checkpoints.part_comparison import holds_more
from spool.host.git.checkpoints.paths import place, shown, spared
from spool.host.git.checkpoints.record.mounts import mounts_below
from spool.host.git.checkpoints.restore.displaced_files import DisplacedFiles
from spool.host.git.checkpoints.restore.tree import NO_ROOM
from spool.host.git.checkpoints.snapshot import RepositoryPart, Snapshot, TreeSettings
from spool.host.git.leading_out import leads_out
from spool.host.git.repository import NoRepository, Repository, find_repository

MOST_NESTED = 100


class RepositorySet:
    """Finds nested repositories, and gives each a shadow of its own."""

    def __init__(self, repository: Repository, settings: TreeSettings) -> None:
        self._repository = repository
        self._settings = settings
        self._top = os.fsencode(repository.top)
        self._repositories = {b"": RepositoryCheckpoint(repository, b"", settings)}

    def at(self, part: RepositoryPart) -> RepositoryCheckpoint:
        """Return the repository of a part, there or not."""
        git_dir = self._settings.path_of(part.git_dir)
        known = self._repositories.get(part.path)
        if known is None or (part.path and (known.repository.git_dir, known.stranger) != (git_dir, part.stranger)):
            known = self._make(part, stranger=part.stranger)
        return known

    def _make(self, part: RepositoryPart, *, stranger: bool) -> RepositoryCheckpoint:
        repository = msgspec.structs.replace(
            self._repository,
            top=place(self._top, part.path),
            git_dir=self._settings.path_of(part.git_dir),
            common_dir=self._settings.path_of(part.common_dir),
            object_format=part.object_format,
        )
        made = RepositoryCheckpoint(repository, part.path, self._settings, stranger=stranger)
        self._repositories[part.path] = made
        return made

    async def take(self, target: Snapshot | None, *, proves: bool = True) -> tuple[list[RepositoryPart], list[str]]:
        """Return the working tree as it is now. On the way to a target, only what the target has is taken apart:
        a repository that is new will be moved aside in one piece. Unless it proves that all objects are there, all
        parts have to be kept next.
        """
        before = {part.path: part for part in target.parts} if target else None
        parts: list[RepositoryPart] = []
        warnings: list[str] = []
        waiting = [b""]
        while waiting:
            path = waiting.pop(0)
            then = before.get(path) if before else None
            part, answer = await self._repositories[path].take(then, lets_go=before is None, proves=proves)
            mine, refused = await self._sort_nested(part, before or {})
            parts.append(msgspec.structs.replace(part, nested=mine, left=[*part.left, *refused]))
            warnings += answer + [why for why in refused.values() if why]
            full = [_join(path, name) for name in mine]
            waiting += [name for name in full if before is None or name in before]
        return parts, warnings

    def forget(self) -> None:
        """Read every file anew the next time."""
        for one in self._repositories.values():
            one.forget()

    async def put_back(
        self, target: Snapshot, parts: list[RepositoryPart], displaced: DisplacedFiles, own: DisplacedFiles
    ) -> list[str]:
        """Restore all repositories, the outer ones first; `own` is what was moved aside when the target was."""
        now = {part.path: part for part in parts}
        behind = spared(name + b"/" for name in mounts_below(self._top))
        warnings = []
        for part in target.parts:
            if part.path and behind.covers(part.path):
                warnings.append(f"{shown(part.path)} is behind a mount point: it is left as it is")
            else:
                warnings += await self._put_back(part, now.get(part.path), displaced, own)
        return warnings

    async def _put_back(
        self, part: RepositoryPart, now: RepositoryPart | None, displaced: DisplacedFiles, own: DisplacedFiles
    ) -> list[str]:
        """Restore one repository. A nested one that refuses does not end the revert of the others."""
        try:
            return await self.at(part).put_back(part, now, displaced, own)
        except (CommandFailed, OSError) as error:
            if not part.path or (isinstance(error, OSError) and error.errno in NO_ROOM):
                raise
            return [f"{shown(part.path)} cannot be brought back: {error}"]

    async def holds_more(
        self, parts: list[RepositoryPart], one: list[RepositoryPart], other: list[RepositoryPart]
    ) -> bool:
        """Whether a tree half-way between two others holds anything that neither of them has."""
        ways = [{part.path: part for part in parts} for parts in (one, other)]
        for part in parts:
            ends = [way[part.path] for way in ways if part.path in way]
            if holds_more(part, ends):
                return True
            names = [await self.at(part).changed(end.tree, part.tree) for end in ends]
            if not names or set.intersection(*names):
                return True
        return False

    def bring_back(self, displaced: DisplacedFiles, instead: DisplacedFiles) -> None:
        """Put back what was moved aside; what stands there now goes aside in its turn."""
        displaced.bring_back(self._top, instead)

    async def count(self, parts: list[RepositoryPart], before: dict[bytes, RepositoryPart]) -> int:
        """Return how many files differ from those before."""
        changed = [
            await self.at(part).changed(before[part.path].tree, part.tree) for part in parts if part.path in before
        ]
        return sum(map(len, changed))

    async def difference(self, parts: list[RepositoryPart], before: dict[bytes, str], *words: str) -> str:
        """Return git's diff from the trees before to the parts."""
        answer = b"".join([
            await self.at(part).differences(before[part.path], part.tree, *words, *_prefixes(part.path))
            for part in parts
            if part.path in before
        ])  # fmt: skip
        return answer.decode("utf-8", "replace")

    async def tidy(self, owners: set[str]) -> None:
        """Release what nobody owns any more, for example what a killed run had begun to save."""
        for one in self._repositories.values():
            await one.tidy(owners)

    async def _sort_nested(
        self, part: RepositoryPart, before: dict[bytes, RepositoryPart]
    ) -> tuple[list[bytes], dict[bytes, str]]:
        """Return which nested repositories are part of this working tree, and which are not, with the reason."""
        mine: list[bytes] = []
        refused: dict[bytes, str] = {}
        for name in part.nested:
            path = _join(part.path, name)
            then = before.get(path)
            if then is not None:
                await self._recognise(then)
                mine.append(name)
            elif (why := await self._refusal(path)) is None:
                mine.append(name)
            else:
                refused[name + b"/"] = why
        return mine, refused

    async def _refusal(self, path: bytes) -> str | None:
        """Return why a nested repository is left alone, empty for a linked working tree; None if it is recorded."""
        name = shown(path)
        if path not in self._repositories and len(self._repositories) > MOST_NESTED:
            return f"{name}: too many nested repositories; this one is neither saved nor touched"
        outer = self._repository
        found = await find_repository(place(self._top, path), timeout_s=self._settings.timeout_s, sandbox=outer.sandbox)
        if isinstance(found, NoRepository):
            return f"{name}: neither saved nor touched, since git says: {found.why}"
        if found.common_dir == outer.common_dir:
            return ""
        if outer.is_clone and (not found.common_dir.is_relative_to(outer.top) or leads_out(found.git_dir)):
            return f"{name}: neither saved nor touched, since its git directory leads out of the clone"
        found = msgspec.structs.replace(found, kept=outer.kept)
        self._repositories.setdefault(path, RepositoryCheckpoint(found, path, self._settings))
        return None

    async def _recognise(self, then: RepositoryPart) -> None:
        """Check whether a repository is the one recorded at its place. Of any other, only files are taken."""
        known = self.at(then)
        if not await known.is_itself(then):
            self._make(then, stranger=True).shadow.forget()


def _join(path: bytes, name: bytes) -> bytes:
    return path + b"/" + name if path else name


def _prefixes(path: bytes) -> tuple[str, ...]:
    inside = os.fsdecode(path)
    return (f"--src-prefix=a/{inside}/", f"--dst-prefix=b/{inside}/") if path else ()
