"""The refs with which owners hold trees in the shadow: a file for each tree, in a folder for each owner.

Written without git, which needs 3 ms for each change of a ref. Nobody else writes them, and nobody packs them.
"""

import os
from contextlib import suppress
from pathlib import Path

from spool.host.state.files import naming, write_all
from spool.host.threads import Pulse, in_thread
from spool.nofollow import FILE_MODE, make_folder, opened_folder

_DRAFT = "tree-ref"
"""Written outside of `refs/`: what a killed run leaves there would be taken for a ref."""


class TreeRefs:
    """All refs of one shadow below one folder."""

    def __init__(self, git_dir: Path, prefix: str) -> None:
        self._git_dir = git_dir
        self._home = git_dir / prefix

    def held(self, owner: str) -> set[str]:
        """Return the trees that an owner holds."""
        with suppress(FileNotFoundError):
            return {path.name for path in (self._home / owner).iterdir() if path.suffix != ".lock"}
        return set()

    async def hold(self, owner: str, trees: set[str]) -> set[str]:
        """Make sure, durably, that these trees stay; return what else the owner holds."""
        held = self.held(owner)
        await in_thread(lambda _: self._write(owner, sorted(trees - held)))
        return held - trees

    async def release(self, owner: str, trees: set[str] | None = None) -> None:
        """Release some trees, or all that an owner held."""
        unwanted = self.held(owner) if trees is None else trees
        await in_thread(lambda pulse: self._remove(owner, unwanted, pulse))

    async def owners(self) -> set[str]:
        """Return who holds anything."""
        with suppress(FileNotFoundError):
            return {path.name for path in self._home.iterdir() if self.held(path.name)}
        return set()

    def _write(self, owner: str, trees: list[str]) -> None:
        if not trees:
            return
        folder = self._home / owner
        make_folder(folder)
        with naming(folder), opened_folder(self._git_dir) as drafts, opened_folder(folder) as inside:
            for tree in trees:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
                descriptor = os.open(_DRAFT, flags, FILE_MODE, dir_fd=drafts)
                try:
                    write_all(descriptor, tree.encode() + b"\n")
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
                os.rename(_DRAFT, tree, src_dir_fd=drafts, dst_dir_fd=inside)
            os.fsync(inside)

    def _remove(self, owner: str, trees: set[str], pulse: Pulse) -> None:
        folder = self._home / owner
        with suppress(FileNotFoundError), opened_folder(folder) as inside:
            for tree in trees:
                pulse()
                with suppress(FileNotFoundError):
                    os.unlink(tree, dir_fd=inside)
        with suppress(OSError):  # it holds others
            folder.rmdir()
