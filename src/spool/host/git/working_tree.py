"""Reports an iteration's changes to the engine and commits its work."""

import asyncio
import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path

import msgspec

from spool.domain.loop.state import Changes
from spool.domain.text.plain_text import capped
from spool.errors import CheckpointError, CommandFailed, HookRefused
from spool.host.git.checkpoints.record.recorder import Recorder
from spool.host.git.checkpoints.record.shadow import Shadow
from spool.host.git.checkpoints.worktree_identity import WorktreeIdentity
from spool.host.git.merging import merged_now
from spool.host.git.repository import Repository, ask_git, head_of, online_environment, run_git

_MERGE = "MERGE_HEAD"
_UNFINISHED = (_MERGE, "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")

_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg")
_HOOK_WORDS = 4_000
_NO_IDENTITY, _LOCKED = "tell me who you are", "index.lock"
_NESTED_ASKED = 20
_LOCKED_PAUSES_S = (0.1, 0.3, 0.6, 1.0)


class _TreeMark(msgspec.Struct, frozen=True, kw_only=True):
    tree: str
    heads: dict[str, str]

    @property
    def id(self) -> str:
        """An id of the tree and of the repositories in it."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:16]


class GitWorktree:
    """A working tree under git."""

    def __init__(self, repository: Repository, *, timeout_s: float, merging: str = "") -> None:
        """`merging` is the commit whose merge Spool has begun, and may commit."""
        self._repository = repository
        self._merging = merging
        self._timeout_s = timeout_s
        self._identity = WorktreeIdentity(repository)
        git_dir = repository.spool_dir / "shadow" / self._identity.key
        lender = repository.common_dir / "objects"
        self._recorder = Recorder(Shadow(repository, git_dir=git_dir, timeout_s=timeout_s, lender=lender))
        self._marked: _TreeMark | None = None

    @property
    def recorder(self) -> Recorder:
        """The tree's recorder."""
        return self._recorder

    @property
    def marked_tree(self) -> str:
        """The tree that was recorded last; empty if none was."""
        return self._marked.tree if self._marked else ""

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

    async def _mark(self) -> _TreeMark:
        """Return the tree, and the HEADs of submodules and clones in it, whose files it does not include."""
        try:
            self._identity.claim()
        except CheckpointError as error:
            raise CommandFailed(str(error), hint=error.hint) from None
        recording = await self._recorder.record()
        heads = {}
        for name in map(os.fsdecode, recording.nested[:_NESTED_ASKED]):
            heads[name] = await head_of(self._repository, inside=name, timeout_s=self._timeout_s)
        return _TreeMark(tree=recording.tree, heads=heads)

    async def fingerprint(self) -> str:
        """Return a hash of the tree, HEAD, the index, nested HEADs, and size and time of single ignored files."""
        mark = await self._mark()
        top, timeout_s = self._repository.top, self._timeout_s
        asked = (
            ("rev-parse", "--quiet", "--verify", "HEAD"),
            ("symbolic-ref", "--quiet", "HEAD"),
            ("ls-files", "--stage", "-z"),
        )
        digest = sha256(msgspec.json.encode([mark.tree, sorted(mark.heads.items())]))
        for words in asked:
            digest.update((await run_git(self._repository, *words, timeout_s=timeout_s)).output)
        ignored = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
        listed = await ask_git(self._repository, *ignored, timeout_s=timeout_s)
        for name in listed.output.split(b"\0"):
            digest.update(_stamp(top, name) if name and not name.endswith(b"/") else b"")
        return digest.hexdigest()

    async def dirty(self, excepting: Sequence[str]) -> list[str]:
        """Return the files with uncommitted changes, but for Spool's own and those under the given paths."""
        listed = await ask_git(
            self._repository,
            "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--",
            ".", *(f":(exclude,top,literal){path}" for path in (".spool/.state", *excepting)),
            timeout_s=self._timeout_s,
        )  # fmt: skip
        return [line[3:] for line in listed.text.split("\0") if line]

    async def commit(self, message: str, *, leaving: tuple[str, ...] = ()) -> str | None:
        """Commit everything but Spool's own files and those to leave, with the user's identity, hooks and filters."""
        merges = await self._merges()
        for name in _UNFINISHED:
            if (self._repository.git_dir / name).exists() and not (merges and name == _MERGE):
                raise CommandFailed(f"not committed: a git operation is in progress ({name})")
        left = [f":(exclude,top,literal){name}" for name in (*await self._own_state(), *leaving)]
        await self._as_user("add", "--all", "--", ".", *left)
        if not merges and not await self._staged():
            return None
        try:
            await self._as_user("commit", "--quiet", "--message", message)
        except CommandFailed as error:
            if not await self._has_hook() or _NO_IDENTITY in error.said or _LOCKED in error.said:
                raise
            raise HookRefused(str(error), said=capped(error.said, _HOOK_WORDS)) from None
        head = await ask_git(self._repository, "rev-parse", "HEAD", timeout_s=self._timeout_s)
        return head.text

    async def _merges(self) -> bool:
        """Whether the merge that Spool began is still to be committed."""
        if not self._merging:
            return False
        return await merged_now(self._repository, timeout_s=self._timeout_s) == self._merging

    async def _own_state(self) -> tuple[str, ...]:
        """Return the folder of Spool's state if `git add` would take it; an ignored one must not be named to it."""
        words = ("check-ignore", "--quiet", "--", ".spool/.state/any")
        ignored = await run_git(self._repository, *words, timeout_s=self._timeout_s)
        return () if ignored.exit_code == 0 else (".spool/.state",)

    async def _has_hook(self) -> bool:
        """Whether a hook can have refused a commit."""
        if self._repository.is_clone:
            return False
        words = ("rev-parse", "--git-path", "hooks")
        found = await run_git(self._repository, *words, timeout_s=self._timeout_s, quietly=False)
        folder = self._repository.top / found.text
        return any(os.access(folder / name, os.X_OK) for name in _HOOKS)

    async def _staged(self) -> bool:
        words = ("diff", "--cached", "--name-only", "--no-ext-diff")
        staged = await ask_git(self._repository, *words, timeout_s=self._timeout_s)
        return bool(staged.text)

    async def _as_user(self, *words: str) -> None:
        """Run git with the user's hooks; while another git, an editor's for example, holds the index, retry for 2 s.

        The hooks of a clone are the agent's, and are not run.
        """
        env, quietly = online_environment(), self._repository.is_clone
        for pause_s in (*_LOCKED_PAUSES_S, None):
            try:
                await ask_git(self._repository, *words, timeout_s=self._timeout_s, env=env, quietly=quietly)
                return
            except CommandFailed:
                if pause_s is None or not (self._repository.git_dir / "index.lock").exists():
                    raise
                await asyncio.sleep(pause_s)


def _stamp(top: Path, name: bytes) -> bytes:
    with suppress(OSError):
        info = os.lstat(os.path.join(os.fsencode(top), name))  # noqa: PTH118 - bytes
        return name + f"{info.st_size}:{info.st_mtime_ns}".encode()
    return name


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

    async def fingerprint(self) -> str:
        """Return an empty text: without git nobody compares."""
        return ""

    async def dirty(self, excepting: Sequence[str]) -> list[str]:  # noqa: ARG002 - as with git
        """Return nothing: nothing is committed."""
        return []
