"""The user's own repository, as far as a checkpoint reads and restores it: HEAD, refs, index and unfinished work."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.errors import CommandFailed
from spool.host.external_command import Completed
from spool.host.git.checkpoints.record.ref_stamps import RefStamps, loose_links, read_ref_stamps
from spool.host.git.checkpoints.record.shadow import remove_locks
from spool.host.git.repository import Repository, ask_git, bound_environment, run_git
from spool.host.state.files import replace_file
from spool.host.threads import in_thread
from spool.nofollow import read_linked

_FOREIGN = (b"refs/remotes/", b"refs/stash", b"refs/spool/", b"refs/prefetch/")
"""Refs that a revert leaves: facts about another repository, the user's stashes, and Spool's own."""
_USAGE = 129
_DURABLE = ("-c", "core.fsync=all")


class Head(msgspec.Struct, frozen=True):
    """The place of HEAD: a branch, which may have no commit yet, or a commit."""

    branch: bytes | None
    commit: str | None


class Refs(msgspec.Struct, frozen=True):
    """HEAD, and the refs that a revert puts back."""

    head: Head
    names: dict[bytes, str]
    links: dict[bytes, bytes] = {}
    """Symbolic refs, HEAD aside, and what they point to."""


class UserRepository:
    """Runs git on the user's repository: its refs and objects only, never its hooks, filters or working tree."""

    def __init__(self, repository: Repository, *, timeout_s: float, pins: str, note: Path) -> None:
        self.repository = repository
        self._note = note
        self.pins = pins
        self._pinned: list[str] = []
        self._read: tuple[RefStamps, Refs] | None = None
        """The refs as git last gave them, and the status of their files just before."""
        self._timeout_s = timeout_s
        # Bound to this very repository: where the agent has removed a nested one, git would find the outer.
        self._env = bound_environment(repository.git_dir, repository.top)

    @property
    def exists(self) -> bool:
        """Whether the git directory is still there: an agent may have removed a nested one."""
        return (self.repository.git_dir / "HEAD").is_file()

    async def git(self, *words: str | bytes, stdin: bytes = b"") -> bytes:
        """Run git and insist on success."""
        done = await ask_git(
            self.repository,
            *_DURABLE,
            *(os.fsdecode(word) for word in words),
            directory=self._directory,
            timeout_s=self._timeout_s,
            env=self._env,
            stdin=stdin,
        )
        return done.output

    async def change_refs(self, *words: str | bytes, stdin: bytes = b"", names: Iterable[bytes] = ()) -> bytes:
        """Run a git that changes refs. A note says which: killed with -9, it would leave their locks behind."""
        await in_thread(lambda _: replace_file(self._note, b"\0".join([b"HEAD", b"packed-refs", *names])))
        try:
            answer = await self.git(*words, stdin=stdin)
        except CommandFailed:  # it ended by itself: the locks that are there are not its own
            self._note.unlink(missing_ok=True)
            raise
        self._note.unlink(missing_ok=True)
        return answer

    async def remove_own_locks(self) -> None:
        """Remove the locks of refs that we were changing when we were killed, and no others."""
        try:
            names, since_s = read_linked(self._note).split(b"\0"), self._note.stat().st_mtime
        except FileNotFoundError:
            return
        folders = {self.repository.git_dir, self.repository.common_dir}
        locks = [folder / f"{os.fsdecode(name)}.lock" for folder in folders for name in names]
        locks += (self.repository.common_dir / self.pins).glob("*/*.lock")
        until_s = since_s + self._timeout_s + 1 if self._timeout_s else time.time()
        await remove_locks([lock for lock in locks if lock.exists() and since_s - 1 <= lock.stat().st_mtime <= until_s])
        self._note.unlink(missing_ok=True)

    async def ask(self, *words: str) -> Completed:
        """Run a git that may answer with a refusal."""
        return await run_git(
            self.repository, *words, directory=self._directory, timeout_s=self._timeout_s, env=self._env
        )

    async def refs(self) -> Refs:
        """Return HEAD and all refs that are the user's own, and take note of Spool's; ask git only after a change."""
        stamps, proved = await in_thread(lambda _: read_ref_stamps(self.repository, self._note.parent))
        if self._read is None or stamps is None or stamps != self._read[0]:
            refs = await self._read_refs()
            self._read = (stamps, refs) if stamps is not None and proved else None
            return refs
        return self._read[1]

    async def _read_refs(self) -> Refs:
        answer = await self.git("for-each-ref", "--format=%(HEAD)%(objectname) %(symref)%00%(refname)")
        names: dict[bytes, str] = {}
        links: dict[bytes, bytes] = {}
        head = None
        self._pinned = []
        for line in answer.splitlines():
            oid, _, name = line.partition(b"\0")
            mark, oid, link = oid[:1], *oid[1:].split(b" ", 1)
            if mark == b"*":
                head = Head(name, oid.decode())
            if name.startswith(self.pins.encode()):
                self._pinned.append(name.decode())
            if link and not name.startswith(_FOREIGN):
                links[name] = link
            elif not name.startswith(_FOREIGN):
                names[name] = oid.decode()
        found = await in_thread(lambda _: loose_links(self.repository.git_dir, self.repository.common_dir))
        links |= {name: link for name, link in found.items() if name not in names and not name.startswith(_FOREIGN)}
        if head is None or head.branch in links.values():  # HEAD may be on one of the links
            head = await self._odd_head()
        return Refs(head, names, links)

    def pinned(self, owner: str) -> set[str]:
        """Return what an owner's pins held when the refs were last read."""
        start = f"{self.pins}{owner}/"
        return {name.removeprefix(start) for name in self._pinned if name.startswith(start)}

    async def existing(self, oids: set[str]) -> set[str]:
        """Return which objects are there."""
        if not oids:
            return set()
        answer = await self.git(
            "cat-file", "--batch-check=%(objectname)", stdin="\n".join(sorted(oids)).encode() + b"\n"
        )
        return {line for line in answer.decode().splitlines() if " " not in line}

    async def other_worktrees(self) -> tuple[int, set[bytes]]:
        """Return how many other working trees share these refs, and which branches they are on."""
        answer = await self.git("worktree", "list", "--porcelain", "-z")
        trees = [dict(row.partition(b" ")[::2] for row in block.split(b"\0") if row) for block in answer.split(b"\0\0")]
        trees = [tree for tree in trees if tree]
        if self.repository.git_dir == self.repository.common_dir:
            others = trees[1:]  # for a submodule, git gives the first one a path of its own making
        else:
            own = os.fsencode(self.repository.top)
            others = [tree for tree in trees if tree[b"worktree"] != own and b"bare" not in tree]
        return len(others), {tree[b"branch"] for tree in others if b"branch" in tree}

    async def is_readable(self) -> bool:
        """Whether git accepts the git directory: with a broken HEAD, configuration or list of refs it refuses to."""
        return (await self.ask("for-each-ref", "--count=1")).exit_code == 0

    def other_logs(self) -> dict[bytes, int]:
        """Return the logs of other working trees' HEADs, and how long they are."""
        common, own = self.repository.common_dir, self.repository.git_dir / "logs" / "HEAD"
        logs = [common / "logs" / "HEAD", *common.glob("worktrees/*/logs/HEAD")]
        found = {}
        for log in logs:
            with suppress(OSError):
                if log != own:
                    found[bytes(log.relative_to(common))] = log.stat().st_size
        return found

    async def _odd_head(self) -> Head:
        """Return a HEAD that is on no existing branch."""
        branch = await self.ask("symbolic-ref", "-q", "--no-recurse", "HEAD")
        if branch.exit_code == _USAGE:  # before git 2.39
            branch = await self.ask("symbolic-ref", "-q", "HEAD")
        commit = await self.ask("rev-parse", "-q", "--verify", "HEAD")
        return Head(branch.output.strip() or None, commit.text or None)

    @property
    def _directory(self) -> Path:
        return self.repository.top if self.repository.top.is_dir() else self.repository.common_dir


def empty_tree(repository: Repository) -> str:
    """Return the name of the tree without files, which every git knows."""
    if repository.object_format == "sha256":
        return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
    return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
