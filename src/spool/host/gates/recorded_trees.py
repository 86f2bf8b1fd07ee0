"""Recorded working trees: what differs between two, and fresh checkouts of one."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from spool.engine.proving import Tree
from spool.errors import CommandFailed
from spool.host.command import run_command
from spool.host.git.checkpoints.recorder import Recorder
from spool.host.git.checkpoints.refs import Pins
from spool.host.git.checkpoints.shadow import TREES
from spool.host.git.difference import copy_out
from spool.host.git.repository import Repository, ask_git
from spool.host.state.files import make_folder
from spool.host.state.places import user_cache

OWNER = "gates-"
"""What the owners of kept trees begin with."""
_CHECKOUT_S = 600.0


class RecordedTrees:
    """The trees of one working tree, recorded in its shadow repository."""

    def __init__(self, repository: Repository, recorder: Recorder, *, owner: str, timeout_s: float) -> None:
        self._repository = repository
        self._recorder = recorder
        self._shadow = recorder.shadow
        self._owner = f"{OWNER}{owner}"
        self._pins = Pins(self._shadow.git, self._shadow.git, TREES)
        self._timeout_s = timeout_s
        self._opened = False

    @property
    def top(self) -> Path:
        """The top of the working tree."""
        return self._repository.top

    async def record(self) -> str:
        """Record the working tree and return its name."""
        return (await self._recorder.record()).tree

    async def keep(self, tree: str) -> bool:
        """Protect a tree from `git gc`; the first one of a run replaces those of earlier runs."""
        try:
            await self._shadow.git("cat-file", "-e", f"{tree}^{{tree}}")
        except CommandFailed:
            return False
        await self._shadow.secure(tree, head=await self._head(), safe=set())
        stale = await self._pins.hold(self._owner, {tree}, held=self._shadow.trees_of(self._owner))
        if not self._opened:
            await self._pins.release(self._owner, stale)
        self._opened = True
        return True

    async def changes(self, before: str, after: str) -> dict[str, str]:
        """Return the paths that differ between two trees, each with git's letter for how."""
        answer = await self._shadow.names("diff-tree", "-r", "-z", "--name-status", "--no-renames", before, after)
        return {os.fsdecode(path): how.decode() for how, path in zip(answer[::2], answer[1::2], strict=True)}

    async def tracked(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return those of some paths that the user's git tracks."""
        if not paths:
            return ()
        done = await ask_git(
            "--literal-pathspecs", "ls-files", "-z", "--", *paths[:500],
            directory=self._repository.top, timeout_s=self._timeout_s,
        )  # fmt: skip
        return tuple(os.fsdecode(name) for name in done.output.split(b"\0") if name)

    @asynccontextmanager
    async def checkout(self, tree: Tree, share: Sequence[str]) -> AsyncIterator[Path]:
        """Check out a tree in a folder of its own, outside the working tree, and remove it afterwards.

        It is a clone without remotes, so that a check may ask git; it borrows ignored files, such as `.venv`.
        """
        scratch = user_cache() / "scratch"
        make_folder(scratch)
        with tempfile.TemporaryDirectory(prefix="check-", dir=scratch, ignore_cleanup_errors=True) as name:
            folder = Path(name) / self._repository.top.name
            await self._clone(folder)
            await copy_out(self._repository, tree.name, folder, timeout_s=_CHECKOUT_S)
            if tree.paths:
                await asyncio.to_thread(_remove, folder, tree.paths)
                await copy_out(self._repository, tree.other, folder, *tree.paths, timeout_s=_CHECKOUT_S)
            _share(self._repository.top, folder, share)
            yield folder

    async def _clone(self, folder: Path) -> None:
        top, timeout_s = self._repository.top, _CHECKOUT_S
        words = ("clone", "--quiet", "--shared", "--no-checkout", "--template=", "--", str(top), str(folder))
        await ask_git(*words, directory=top, timeout_s=timeout_s)
        await ask_git("remote", "remove", "origin", directory=folder, timeout_s=timeout_s)
        if await self._head():
            await ask_git("read-tree", "HEAD", directory=folder, timeout_s=timeout_s)

    async def _head(self) -> str | None:
        words = ["git", "rev-parse", "--quiet", "--verify", "HEAD"]
        done = await run_command(words, directory=self._repository.top, timeout_s=self._timeout_s)
        return done.text or None


def _remove(folder: Path, paths: Sequence[str]) -> None:
    for path in paths:
        place = folder / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)


def _share(top: Path, folder: Path, names: Sequence[str]) -> None:
    """Link what the checkout borrows; only what stays inside the working tree."""
    for name in names:
        theirs, ours = top / name, folder / name
        if (
            theirs.exists()
            and not os.path.lexists(ours)
            and ".." not in Path(name).parts
            and not Path(name).is_absolute()
        ):
            ours.parent.mkdir(parents=True, exist_ok=True)
            ours.symlink_to(theirs)
