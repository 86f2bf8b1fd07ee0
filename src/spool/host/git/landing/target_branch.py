"""Moves the target branch by compare-and-swap, and finishes or undoes a move that was killed.

Each move is on disk (`Journal`) before it begins. All git commands of a move inherit the lock of landing: if Spool is
killed, a git that lives on keeps the lock until it has ended, so the next landing finds a repository at rest.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from spool.domain.account.landing_order import RESULT, Move
from spool.errors import CommandError, LockedError
from spool.host.external_command import Completed, run_command
from spool.host.git.checkouts import checkouts
from spool.host.git.landing.target_errors import TargetMoved, TreeInTheWay, Unsettled
from spool.host.git.landing.target_tree import TargetTree
from spool.host.git.repository import QUIET, Repository, bound_environment, find_repository
from spool.host.state.files import opened
from spool.nofollow import make_folder, read_linked

_WAIT_S, _PAUSE_S = 10.0, 0.02


@contextmanager
def landing_lock(repository: Repository) -> Iterator[int]:
    """Hold the repository's lock of landing, and yield its descriptor for git commands to inherit."""
    folder = repository.spool_dir / "locks"
    make_folder(folder)
    with opened(folder / "landing.lock", os.O_RDWR | os.O_CREAT) as descriptor:
        give_up_at = time.monotonic() + _WAIT_S
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if time.monotonic() > give_up_at:
                raise LockedError(f"changes of {repository.main} are landing already", hint="wait until that has ended")
            time.sleep(_PAUSE_S)
        yield descriptor


class Target:
    """A branch of the person's repository on which changes land. None of its hooks run."""

    def __init__(self, repository: Repository, onto: str, lock: int, *, timeout_s: float) -> None:
        self._repository = repository
        self._lock = lock
        self._timeout_s = timeout_s
        self.onto = onto
        self._env = bound_environment(repository.common_dir, repository.common_dir)
        self._env.pop("GIT_WORK_TREE")

    async def commit(self) -> str:
        """Return the target's commit; empty if it does not exist."""
        return await self.commit_of(f"refs/heads/{self.onto}")

    async def commit_of(self, name: str) -> str:
        """Return the commit of a ref; empty if there is none."""
        done = await self._run("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}")
        return "" if done.exit_code else done.text

    async def tree_of(self, commit: str) -> str:
        """Return the tree of a commit."""
        return (await self._run("rev-parse", "--verify", f"{commit}^{{tree}}")).text

    async def contains(self, commit: str, *, inside: str = "") -> bool:
        """Whether the target, or another commit, has a commit in its history."""
        words = ("merge-base", "--is-ancestor", commit, inside or f"refs/heads/{self.onto}")
        return (await self._run(*words)).exit_code == 0

    async def tree(self) -> Repository | None:
        """Return the working tree that has the target checked out; raise TreeInTheWay if there are two."""
        found = [one for one in checkouts(self._repository.top) if one.branch == self.onto]
        if len(found) > 1:
            raise TreeInTheWay(f"{self.onto} is checked out twice: {found[0].path}, {found[1].path}", hint="")
        if not found:
            self._require_no_rebase()
            return None
        tree = await find_repository(Path(found[0].path), timeout_s=self._timeout_s)
        if not isinstance(tree, Repository):
            raise TreeInTheWay(f"{found[0].path} cannot be used: {tree.why}", hint="")
        return tree

    def _require_no_rebase(self) -> None:
        """Raise if the target is being rebased: its tree then has a commit checked out, and no branch."""
        common = self._repository.common_dir
        for folder in (common, *common.glob("worktrees/*")):
            for name in ("rebase-merge", "rebase-apply"):
                with suppress(OSError):
                    if read_linked(folder / name / "head-name").decode().strip() == f"refs/heads/{self.onto}":
                        raise TreeInTheWay(f"{self.onto} is being rebased", hint="finish it, or abort it")

    async def require_movable(self, move: Move) -> None:
        """Raise TreeInTheWay if the target is checked out in a tree that is not clean."""
        if move.top:
            await self._tree(move).require_clean()

    async def displaced(self, move: Move) -> dict[str, str]:
        """Return the person's untracked files that a move replaces, as `Move.displaced`."""
        return await self._tree(move).displaced() if move.top else {}

    async def move(self, move: Move) -> None:
        """Move the target with its tree, or neither; raise TargetMoved or TreeInTheWay."""
        if not move.top:
            await self._swap(move)
            return
        tree = self._tree(move)
        try:
            await tree.advance()
            await self._swap(move)
        except (CommandError, OSError):
            await self._put_back(tree)
            raise
        tree.release()

    async def settle(self, move: Move) -> bool:
        """Finish or undo a move that was killed; return whether the target has moved."""
        moved = await self.contains(move.new, inside=move.ref)
        if move.top and Path(move.git_dir).is_dir():
            if moved:  # the branch moves last
                self._tree(move).release()
            else:
                await self._tree(move).undo()
        return moved

    async def forget(self, change: str) -> None:
        """Delete Spool's ref to a result; what landed is in the target."""
        await self._run("update-ref", "-d", f"{RESULT}{change}")

    async def _put_back(self, tree: TargetTree) -> None:
        if not tree.begun:
            tree.release()
            return
        try:
            await tree.undo()
        except (CommandError, OSError) as error:  # a full disk, for example
            raise Unsettled(f"the tree that has {self.onto} checked out is half-moved: {error}") from error

    def _tree(self, move: Move) -> TargetTree:
        return TargetTree(move, timeout_s=self._timeout_s, inherits=(self._lock,))

    async def _swap(self, move: Move) -> None:
        script = f"start\nupdate {move.ref} {move.new} {move.old}\ncommit\n"
        words = ("-c", "core.fsync=all", "update-ref", "--create-reflog", "-m", f"spool: land {move.change}", "--stdin")
        # In the tree's own git directory, so that the reflog of its HEAD has the move too.
        env = self._env | ({"GIT_DIR": move.git_dir} if move.git_dir else {})
        done = await self._run(*words, stdin=script.encode(), env=env)
        if done.exit_code and await self.commit() != move.new:
            said = done.errors.decode("utf-8", "replace").strip()
            raise TargetMoved(f"{move.onto} was moved meanwhile: {said[:300]}")

    async def _run(self, *words: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Completed:
        return await run_command(
            ["git", *QUIET, *words],
            directory=self._repository.common_dir,
            timeout_s=self._timeout_s,
            env=env or self._env,
            stdin=stdin,
            inherits=(self._lock,),
        )
