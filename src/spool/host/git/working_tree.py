"""Reports an iteration's changes to the engine and commits its work."""

import asyncio
import hashlib
import os
from fnmatch import fnmatch

import msgspec

from spool.domain.state import Changes
from spool.errors import CheckpointError, CommandFailed
from spool.host.command import checked
from spool.host.git.checkpoints.recorder import Recorder
from spool.host.git.checkpoints.shadow import Shadow
from spool.host.git.checkpoints.worktree_identity import WorktreeIdentity
from spool.host.git.repository import Repository, ask_git, head_of, online_environment

_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")

_NESTED_ASKED = 20
_LOCKED_PAUSES_S = (0.1, 0.3, 0.6, 1.0)


class _Mark(msgspec.Struct, frozen=True, kw_only=True):
    tree: str
    heads: dict[str, str]

    @property
    def id(self) -> str:
        """An id of the tree and of the repositories in it."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:16]


class GitWorktree:
    """A working tree under git."""

    def __init__(self, repository: Repository, *, timeout_s: float) -> None:
        self._repository = repository
        self._timeout_s = timeout_s
        self._identity = WorktreeIdentity(repository)
        git_dir = repository.spool_dir / "shadow" / self._identity.key
        self._recorder = Recorder(Shadow(repository, git_dir=git_dir, timeout_s=timeout_s))
        self._marked: _Mark | None = None

    @property
    def recorder(self) -> Recorder:
        """What records the tree."""
        return self._recorder

    async def mark(self) -> None:
        """Record the current tree."""
        self._marked = await self._mark()

    async def changes(self, ignoring: tuple[str, ...]) -> Changes | None:
        """Return the changes since the last mark, and mark again."""
        before, self._marked = self._marked, await self._mark()
        if before is None:
            return None
        found = await self._recorder.compare(before.tree, self._marked.tree)
        moved = tuple(name for name, head in self._marked.heads.items() if before.heads.get(name) != head)
        files = tuple(name for name in found.files if not any(fnmatch(name, pattern) for pattern in ignoring))
        left_out = len(found.files) - len(files)
        return Changes(
            count=found.count - left_out + len(moved),
            files=files + moved,
            insertions=found.insertions,
            deletions=found.deletions,
            trees=(before.id, self._marked.id),
        )

    async def _mark(self) -> _Mark:
        """Return the tree, and the HEADs of submodules and clones in it, whose files it does not include."""
        try:
            self._identity.claim()
        except CheckpointError as error:
            raise CommandFailed(str(error), hint=error.hint) from None
        recording = await self._recorder.record()
        heads = {}
        for name in map(os.fsdecode, recording.nested[:_NESTED_ASKED]):
            heads[name] = await head_of(self._repository.top / name, timeout_s=self._timeout_s)
        return _Mark(tree=recording.tree, heads=heads)

    async def commit(self, message: str, *, leaving: tuple[str, ...] = ()) -> str | None:
        """Commit everything but Spool's own files and those to leave, with the user's identity, hooks and filters."""
        for name in _UNFINISHED:
            if (self._repository.git_dir / name).exists():
                raise CommandFailed(f"not committed: a git operation is in progress ({name})")
        top = self._repository.top
        left = [f":(exclude,top,literal){name}" for name in leaving]
        await self._as_user("add", "--all", "--", ".", ":(exclude,top).spool/.state", *left)
        if not await self._staged():
            return None
        await self._as_user("commit", "--quiet", "--message", message)
        head = await ask_git("rev-parse", "HEAD", directory=top, timeout_s=self._timeout_s)
        return head.text

    async def _staged(self) -> bool:
        staged = await ask_git(
            "diff", "--cached", "--name-only", "--no-ext-diff",
            directory=self._repository.top, timeout_s=self._timeout_s,
        )  # fmt: skip
        return bool(staged.text)

    async def _as_user(self, *words: str) -> None:
        """Run git with the user's hooks; while another git, an editor's for example, holds the index, retry for 2 s."""
        top = self._repository.top
        for pause_s in (*_LOCKED_PAUSES_S, None):
            try:
                await checked(["git", *words], directory=top, timeout_s=self._timeout_s, env=online_environment())
                return
            except CommandFailed:
                if pause_s is None or not (self._repository.git_dir / "index.lock").exists():
                    raise
                await asyncio.sleep(pause_s)


class PlainFolder:
    """A working directory without git: changes are unknown, and nothing is committed."""

    async def mark(self) -> None:
        """Do nothing."""

    async def changes(self, ignoring: tuple[str, ...]) -> Changes | None:  # noqa: ARG002 - the protocol's signature
        """Return None: changes are unknown."""
        return None

    async def commit(self, message: str, *, leaving: tuple[str, ...] = ()) -> str | None:  # noqa: ARG002 - as above
        """Return None: nothing is committed."""
        return None
