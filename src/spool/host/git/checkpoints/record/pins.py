"""Refs with which owners hold objects: they protect what a checkpoint needs from `git gc`."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

MOST_PINS = 500
"""One small file each. The tips of more branches and tags than these are not pinned, which only matters if an agent
deletes such a branch and then runs `git gc --prune=now`."""

Ask = Callable[..., Awaitable[bytes]]


class Pins:
    """Refs of Spool's: one for each object, named after it, in a folder for each owner."""

    def __init__(self, git: Ask, change: Ask, prefix: str, *, unpacked: Path | None = None) -> None:
        """`unpacked` is the git directory, where nobody packs its refs: those of an owner are listed without git."""
        self._git = git
        self._change = change
        self._prefix = prefix
        self._unpacked = unpacked

    async def hold(self, owner: str, oids: set[str], *, held: set[str] | None = None) -> set[str]:
        """Make sure that these objects stay, given what the owner already holds; return what else it holds."""
        held = await self._held(owner) if held is None else held
        await self._update([f"create {self._prefix}{owner}/{oid} {oid}\n" for oid in sorted(oids - held)])
        return held - oids

    async def release(self, owner: str, oids: set[str] | None = None) -> None:
        """Release some objects, or all that an owner held."""
        unwanted = await self._held(owner) if oids is None else oids
        await self._update([f"delete {self._prefix}{owner}/{oid}\n" for oid in sorted(unwanted)])

    async def owners(self) -> set[str]:
        """Return who holds anything."""
        answer = await self._git("for-each-ref", "--format=%(refname)", self._prefix.rstrip("/"))
        return {line.removeprefix(self._prefix).partition("/")[0] for line in answer.decode().splitlines()}

    async def _held(self, owner: str) -> set[str]:
        if self._unpacked is not None:
            with suppress(FileNotFoundError):
                folder = self._unpacked / self._prefix / owner
                return {path.name for path in folder.iterdir() if path.suffix != ".lock"}
            return set()
        answer = await self._git("for-each-ref", "--format=%(refname)", f"{self._prefix}{owner}")
        return {line.rpartition("/")[2] for line in answer.decode().splitlines()}

    async def _update(self, lines: list[str]) -> None:
        if lines:
            await self._change("update-ref", "--no-deref", "--stdin", stdin="".join(lines).encode())
