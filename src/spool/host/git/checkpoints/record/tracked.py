"""Finds tracked files that the user's own rules ignore: the shadow would leave them out."""

import hashlib
import os
from contextlib import suppress
from typing import NamedTuple

from spool import shortcuts
from spool.errors import CommandFailed
from spool.host.git.checkpoints.record.modes import Known, signature
from spool.host.git.checkpoints.record.shadow import Shadow
from spool.host.git.repository import git_environment, run_git
from spool.host.threads import Pulse, in_thread
from spool.nofollow import WHOLE, read_linked

_FEW = 1_000
"""Names that are compared with the ignore rules by themselves."""
NOT_PROVED = ("", "")


class Tracked(NamedTuple):
    """Findings in the user's index."""

    names: list[bytes] | None
    """Tracked yet ignored names that are not recorded; None if the names are those last compared."""
    proof: tuple[str, str] = NOT_PROVED
    """Digests of the index and of the names in it, if all of them are recorded once these are."""


class TrackedFiles:
    """Reads the user's index as rarely as possible: agents rewrite it, mostly with the same names in it."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow
        self._index = shadow.repository.git_dir / "index"

    def signature(self) -> tuple[int, ...]:
        """Return the status of the user's index."""
        return signature(self._index)

    async def look(self, known: Known | None) -> Tracked:
        """Return what is tracked yet ignored and not recorded, if the names are not those last compared.

        `git status` rewrites the index with the same names, and `git stash` with `git stash pop` the very bytes. To
        list two indexes of 20,000 names and compare them takes 18 ms, to read one 1.
        """
        if known is None:
            return Tracked(await self.yet_ignored())
        seen = self.signature()
        if known.user_index == seen:
            return Tracked(None, known.tracked)
        if not shortcuts.USER_INDEX:
            return Tracked(await self.yet_ignored())
        index, names = known.tracked
        now = await in_thread(self._digest)
        if now and now == index:
            return Tracked(None, known.tracked)
        listed = await self._list()
        proof = (now, _digest(listed)) if now and listed and self.signature() == seen else NOT_PROVED
        if names and proof[1] == names:
            return Tracked(None, proof)
        return await self._compare(listed, proof)

    async def yet_ignored(self) -> list[bytes]:
        """Return all that is tracked yet ignored."""
        return _names(await self._list("--ignored", "--exclude-standard"))

    async def among(self, names: frozenset[bytes]) -> set[bytes]:
        """Return which of a few names are tracked."""
        words = (f":(top,literal){os.fsdecode(name)}" for name in sorted(names))
        return {*_names(await self._list("--", *words))} if names else set()

    async def _compare(self, listed: bytes, proof: tuple[str, str]) -> Tracked:
        # To compare all names with the ignore rules takes git as long as to compare all files.
        recorded = await self._shadow.names("ls-files", "-z")
        missing = set(_names(listed)).difference(recorded)
        new = [name for name in missing if os.path.lexists(self._shadow.top + b"/" + name)]
        # What is tracked but not there may come back: then it must be compared.
        proof = proof if len(new) == len(missing) else NOT_PROVED
        if len(new) <= _FEW:
            with suppress(CommandFailed):  # git refuses names behind a link
                return Tracked([*await self._shadow.ignored(new)], proof)
        return Tracked(await self.yet_ignored(), proof)

    async def _list(self, *words: str) -> bytes:
        """Return what the user tracks, or which part of it; nothing if git cannot read their index."""
        repository = self._shadow.repository
        if not self._index.exists():
            return b""
        done = await run_git(
            repository,
            *("ls-files", "--cached", "-z", *words),
            timeout_s=self._shadow.timeout_s,
            env=git_environment(GIT_DIR=str(repository.git_dir), GIT_WORK_TREE=str(repository.top)),
        )
        return b"" if done.exit_code else done.output

    def _digest(self, _: Pulse) -> str:
        with suppress(OSError):
            return _digest(read_linked(self._index, most_bytes=WHOLE))
        return ""


def _names(listed: bytes) -> list[bytes]:
    return [name for name in listed.split(b"\0") if name]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
