"""Compares and exports checkpoints, without touching them or the working tree."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import groupby
from pathlib import Path

import msgspec

from spool.host.git.checkpoints.worktree_identity import WorktreeIdentity
from spool.host.git.repository import Repository, ask_git, git_environment

_LINES = 20_000
"""Changed lines to show as patches; the rest is only counted."""
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")


class FileChange(msgspec.Struct, frozen=True):
    """A changed file; the counts are None for a binary file."""

    path: str
    added: int | None = None
    removed: int | None = None
    patch: str = ""


async def compare(repository: Repository, tree: str, until: str = "", *, timeout_s: float) -> list[FileChange]:
    """Compare a checkpoint's tree with a later one, or with the working tree."""
    trees = [tree, until] if until else [tree]
    async with _shadow(repository, timeout_s) as git:
        if not until:
            await git("add", "--intent-to-add", "--", ".")
        rows = [row.split("\t", 2) for row in (await git(*_DIFF, "--numstat", "-z", *trees)).split("\0")]
        counted = [(row[2], _number(row[0]), _number(row[1])) for row in rows if len(row) == 3]
        shown = _within(counted)
        patch = await git(*_DIFF, *trees, "--", *shown) if shown else ""
    patches = dict(zip(shown, _split(patch), strict=False))
    return [FileChange(path, added, removed, patches.get(path, "")) for path, added, removed in counted]


async def copy_out(repository: Repository, tree: str, folder: Path, *paths: str, timeout_s: float) -> None:
    """Write some paths of a checkpoint's tree to a folder."""
    async with _shadow(repository, timeout_s) as git:
        await git("read-tree", tree)
        names = await git("ls-files", "-z", "--", *paths)
        await git("checkout-index", f"--prefix={folder}/", "-z", "--stdin", stdin=os.fsencode(names))


async def write_overlaid(repository: Repository, tree: str, entries: bytes, *, timeout_s: float) -> str:
    """Write a tree with some entries replaced, as `update-index --index-info` takes them, and return its name."""
    async with _shadow(repository, timeout_s) as git:
        await git("read-tree", tree)
        await git("update-index", "-z", "--index-info", stdin=entries)
        return (await git("write-tree")).strip()


_Git = Callable[..., Awaitable[str]]


@asynccontextmanager
async def _shadow(repository: Repository, timeout_s: float) -> AsyncIterator[_Git]:
    """Yield git on the shadow repository with a separate index: the runner may be using the shadow's."""
    shadow = repository.spool_dir / "shadow" / WorktreeIdentity(repository).key
    with tempfile.TemporaryDirectory(prefix="spool-diff-", dir=repository.kept) as folder:
        index = Path(folder) / "index"
        with suppress(FileNotFoundError):
            await asyncio.to_thread(shutil.copy, shadow / "index", index)
        env = git_environment(
            GIT_DIR=str(shadow),
            GIT_WORK_TREE=str(repository.top),
            GIT_INDEX_FILE=str(index),
            GIT_LITERAL_PATHSPECS="1",
        )

        async def git(*words: str, stdin: bytes = b"") -> str:
            options = ("-c", "core.bigFileThreshold=256k")
            done = await ask_git(repository, *options, *words, timeout_s=timeout_s, env=env, stdin=stdin)
            return done.output.decode("utf-8", "surrogateescape")

        yield git


def _within(counted: list[tuple[str, int | None, int | None]]) -> list[str]:
    """Return the files whose patches fit into `_LINES`."""
    shown, lines = [], 0
    for path, added, removed in counted:
        size = (added or 0) + (removed or 0)
        if lines + size <= _LINES:
            lines += size
            shown.append(path)
    return shown


def _split(patch: str) -> list[str]:
    """Return the patch of each file; no content line starts with `diff`, and a file that becomes a link has two."""
    parts = [f"diff {part}" for part in f"\n{patch}".split("\ndiff ")[1:]]
    return ["\n".join(same) for _, same in groupby(parts, key=lambda part: part.partition("\n")[0])]


def _number(counted: str) -> int | None:
    return int(counted) if counted.isdigit() else None
