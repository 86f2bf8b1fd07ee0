"""Tells the engine what an iteration changed, and commits its work."""

from fnmatch import fnmatch

from spool.domain.state import Changes
from spool.errors import CommandFailed
from spool.host.checkpoints.recorder import Recorder
from spool.host.checkpoints.shadow import Shadow
from spool.host.git import Repository, ask_git, git_environment
from spool.host.process import checked

_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")


class GitWorktree:
    """A working tree under git."""

    def __init__(self, repository: Repository, *, timeout_s: float) -> None:
        self._repository = repository
        self._timeout_s = timeout_s
        self._recorder = Recorder(Shadow(repository, home=repository.spool_dir / "shadow", timeout_s=timeout_s))
        self._marked: str | None = None

    async def mark(self) -> None:
        """Remember the tree as it is now."""
        self._marked = (await self._recorder.record()).tree

    async def changes(self, ignoring: tuple[str, ...]) -> Changes | None:
        """Return what changed since the last mark, and mark anew."""
        before, self._marked = self._marked, (await self._recorder.record()).tree
        if before is None:
            return None
        found = await self._recorder.compare(before, self._marked)
        files = tuple(name for name in found.files if not any(fnmatch(name, pattern) for pattern in ignoring))
        left_out = len(found.files) - len(files)
        return Changes(
            count=found.count - left_out, files=files, insertions=found.insertions, deletions=found.deletions
        )

    async def commit(self, message: str) -> str | None:
        """Commit all but Spool's own files, as the user would: with their identity, their hooks and their filters."""
        for name in _UNFINISHED:
            if (self._repository.git_dir / name).exists():
                raise CommandFailed(f"not committed: the repository is in the middle of something ({name})")
        top = self._repository.top
        await self._as_user("add", "--all", "--", ".", ":(exclude,top).spool/.state")
        if not await self._staged():
            return None
        await self._as_user("commit", "--quiet", "--message", message)
        head = await ask_git("rev-parse", "HEAD", directory=top, timeout_s=self._timeout_s)
        return head.text

    async def _staged(self) -> bool:
        told = await ask_git(
            "diff", "--cached", "--name-only", "--no-ext-diff",
            directory=self._repository.top, timeout_s=self._timeout_s,
        )  # fmt: skip
        return bool(told.text)

    async def _as_user(self, *words: str) -> None:
        await checked(["git", *words], directory=self._repository.top, timeout_s=self._timeout_s, env=git_environment())


class PlainFolder:
    """A working directory without git: nothing can be told of changes, and nothing committed."""

    async def mark(self) -> None:
        """There is nothing to remember."""

    async def changes(self, ignoring: tuple[str, ...]) -> Changes | None:  # noqa: ARG002 - the protocol's signature
        """Say that nothing can be told."""
        return None

    async def commit(self, message: str) -> str | None:  # noqa: ARG002 - the protocol's signature
        """There is nowhere to commit to."""
        return None
