"""Turns recorded working trees into commits that travel.

The tree commit has the working tree as its tree and HEAD as its first parent. Further parents hold what the loop still
compares with or goes back to: the checkpoint of the story, and the trees in which the loop began and the last run
ended. Its message names them.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from spool.domain.loop.checkpoint import Checkpoint
from spool.errors import CommandFailed
from spool.host.external_command import checked
from spool.host.git.checkpoints.record.recorder import Recorder
from spool.host.git.checkpoints.record.shadow import Shadow
from spool.host.git.leading_out import LEADING_OUT_HINT, leads_out
from spool.host.git.repository import Repository, head_of
from spool.host.git.workspaces.transport import UPLOAD_PACK, fetch_recorded

MADE = "refs/spool/fleet/made"
_AUTHOR = ("-c", "user.name=spool", "-c", "user.email=spool@localhost")


class Parents(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parents of a tree commit."""

    head: str
    checkpoint: str = ""
    trees: tuple[str, ...] = ()
    """Commits of trees that the loop compares with."""


class TreeCommits:
    """Makes the tree commits of one clone, in its shadow repository."""

    def __init__(self, repository: Repository, recorder: Recorder, *, timeout_s: float) -> None:
        self._repository = repository
        self._recorder = recorder
        self._shadow = recorder.shadow
        self._timeout_s = timeout_s

    @property
    def place(self) -> Path:
        """The git directory that has the commits."""
        return self._shadow.git_dir

    async def make(self, checkpoint: Checkpoint | None, compared: tuple[str, ...], *, tree: str = "") -> str:
        """Commit the working tree, with what the loop compares with; return the commit.

        `tree` has just been recorded: recording 20,000 files again takes 0.1 s.
        """
        tree = tree or (await self._recorder.record()).tree
        head = await head_of(self._repository, timeout_s=self._timeout_s)
        saved = ""
        if checkpoint is not None and (checkpoint.tree, checkpoint.head) != (tree, head):
            saved = await self._commit(checkpoint.tree, "checkpoint", checkpoint.head or head)
        trees = [await self._commit(one, "tree") for one in dict.fromkeys(compared) if await self._has(one)]
        parents = Parents(head=head, checkpoint=saved, trees=tuple(trees))
        named = [one for one in (head, saved, *trees) if one]
        commit = await self._commit(tree, msgspec.json.encode(parents).decode(), *named)
        await self._shadow.git("update-ref", MADE, commit)
        return commit

    async def _has(self, tree: str) -> bool:
        try:
            await self._shadow.git("cat-file", "-e", f"{tree}^{{tree}}")
        except CommandFailed:
            return False
        return True

    async def _commit(self, tree: str, message: str, *parents: str) -> str:
        words = [word for parent in parents for word in ("-p", parent)]
        made = await self._shadow.git(*_AUTHOR, "commit-tree", tree, *words, "-m", message)
        return made.decode().strip()


async def take_trees(clone: Path, shadow: Path, store: Path, *, ref: str, served_by: str = UPLOAD_PACK) -> None:
    """Fetch the last tree commit of a clone into the store; nothing else of the clone is read."""
    if path := leads_out(clone / ".git"):
        raise CommandFailed(f"the clone's git directory leads out of the clone: {path}", hint=LEADING_OUT_HINT)
    await fetch_recorded(shadow, store, source_ref=MADE, ref=ref, served_by=served_by)


async def write_tree(shadow: Shadow, tree: str, *, first: bool) -> None:
    """Write a recorded tree to the working tree, byte by byte: the shadow converts nothing."""
    if first:
        await shadow.git("read-tree", tree)
        await shadow.git("checkout-index", "--all", "--force", "--index", "-q")
    else:
        await shadow.git("read-tree", "-u", "--reset", tree)


async def refresh_index(top: Path, env: Mapping[str, str]) -> None:
    """Make the clone's index that of HEAD, with what the file system says of the files."""
    for words in (("read-tree", "HEAD"), ("update-index", "-q", "--refresh")):
        try:
            await checked(["git", *words], directory=top, timeout_s=600.0, env=env)
        except CommandFailed:
            if words[0] == "read-tree":  # the other one exits with 1 where files differ
                raise
