"""Rebases a branch in a throwaway clone, where the checks then run on the result.

The clone is new for each attempt. The rebased commits are fetched back before any check runs in it: a check runs the
agent's code, and from then on nothing is read from the clone's git directory.
"""

import secrets
import shutil
from pathlib import Path

from spool.domain.account.landing_order import RESULT, listed
from spool.domain.change.workspaces import Kind, Workspace
from spool.domain.text.plain_text import one_line
from spool.errors import CommandFailed
from spool.host.external_command import Completed, run_command, succeeded
from spool.host.git.repository import QUIET, Repository
from spool.host.git.workspaces.clones import ALSO, KEPT, clones_of, fill_clone, own_environment
from spool.host.git.workspaces.delivery import first_of_state
from spool.host.git.workspaces.transport import CLONE_S, STALLED_S, fetch_back, fetch_commits
from spool.nofollow import make_folder

_THROWAWAY = ".landing-"
_BRANCH = "landing"


class Conflict(CommandFailed):
    """A branch cannot be rebased."""

    def __init__(self, message: str, *, files: tuple[str, ...]) -> None:
        super().__init__(message)
        self.files = files


class Rehearsal:
    """A throwaway clone with a branch rebased onto the target."""

    def __init__(self, repository: Repository, home: Path) -> None:
        self._repository = repository
        self.top = home / repository.main.name.removesuffix(".git")
        self.kept = home / KEPT

    @property
    def repository(self) -> Repository:
        """The clone, with Spool's own data beside it."""
        git_dir = self.top / ".git"
        return Repository(self.top, git_dir, git_dir, self._repository.object_format, kept=self.kept)

    def workspace(self, base: str, inside: str, *, sandboxed: bool) -> Workspace:
        """Return the clone as a workspace."""
        return Workspace(
            kind=Kind.CLONE,
            id=self.top.parent.name,
            path=str(self.top),
            inside=inside,
            repository=str(self._repository.common_dir),
            branch=_BRANCH,
            base=base,
            sandboxed=sandboxed,
        )

    async def rebase(self, change: str, tip: str, onto: str, *, upstream: str = "", source: Path | None = None) -> str:
        """Rebase a commit onto another and return the result; raise Conflict.

        `source` is the git directory that has `onto`, by default the person's.
        `upstream` is a commit whose history is left out: it has landed already, as other commits. A branch with merges
        becomes one commit: what was resolved in a merge would be lost if its commits were made anew one by one.
        """
        await fill_clone(self.top, self._repository, branch=_BRANCH, commit=tip)
        await fetch_commits(source or self._repository.common_dir, self.top / ".git", commit=onto, ref=ALSO)
        merges = (await self._git("rev-list", "--merges", "--max-count=1", tip, "--not", onto)).text
        if merges:
            await self._squash(change, tip, onto)
        elif (await self._git("merge-base", "--is-ancestor", onto, tip)).exit_code:
            done = await self._git("rebase", "--quiet", "--no-fork-point", "--onto", onto, upstream or onto)
            if done.exit_code:
                raise await self._stuck(done)
        return await self.head()

    async def _squash(self, change: str, tip: str, onto: str) -> None:
        """Put what a branch changes on top of the target, as one commit that names those it stands for."""
        subjects = (await self._git("log", "--reverse", "--no-merges", "--format=* %s", tip, "--not", onto)).text
        succeeded("git reset", await self._git("reset", "--quiet", "--hard", onto))
        done = await self._git("merge", "--quiet", "--squash", tip)
        if done.exit_code:
            raise await self._stuck(done, f"what {change} changes")
        if (await self._git("diff", "--cached", "--quiet")).exit_code == 0:
            return
        message = f"Land {change}\n\n{subjects}"
        succeeded("git commit", await self._git("commit", "--quiet", "--no-verify", "--message", message))
        await self._require_resolved(onto)

    async def _require_resolved(self, onto: str) -> None:
        """Raise Conflict if the markers of a conflict are left in a file."""
        marked = await self._git("diff", "--name-only", "-z", "-G^(<{7}|>{7}) ", onto, "HEAD")
        if files := tuple(path for path in marked.text.split("\0") if path):
            raise Conflict(f"the markers of a conflict are left in {listed(files)}", files=files)

    async def head(self) -> str:
        """Return the commit that is checked out."""
        return succeeded("git rev-parse", await self._git("rev-parse", "--verify", "HEAD^{commit}")).text

    async def commit_all(self, message: str) -> str:
        """Commit what differs and return the commit."""
        succeeded("git add", await self._git("add", "--all"))
        succeeded("git commit", await self._git("commit", "--quiet", "--no-verify", "--message", message))
        return await self.head()

    async def require_no_state(self, onto: str) -> None:
        """Raise if the result would put files where Spool keeps its state."""
        changed = await self._git("diff-tree", "-r", "-z", "--name-only", "--no-renames", onto, "HEAD")
        if found := first_of_state(changed.text):
            raise CommandFailed(f"its commits hold Spool's own state, {one_line(found, 200)}")

    async def bring_back(self, change: str, onto: str) -> None:
        """Fetch the result into the person's repository, under a ref of Spool's."""
        await self.require_no_state(onto)
        await fetch_back(self.top / ".git", self._repository.common_dir, ref=f"{RESULT}{change}", timeout_s=STALLED_S)

    async def tree_of(self, commit: str) -> str:
        """Return the tree of a commit."""
        return succeeded("git rev-parse", await self._git("rev-parse", "--verify", f"{commit}^{{tree}}")).text

    async def _stuck(self, done: Completed, what: str = "") -> CommandFailed:
        unmerged = await self._git("diff", "--name-only", "--diff-filter=U", "-z")
        files = tuple(path for path in unmerged.text.split("\0") if path)
        if not files:
            said = done.errors.decode("utf-8", "replace") or done.text
            return CommandFailed(f"git cannot rebase it: {one_line(said, 300)}")
        if not what:
            stopped = (await self._git("log", "-1", "--format=%s", "REBASE_HEAD")).text
            what = f"'{one_line(stopped, 80)}'"
        return Conflict(f"{what} conflicts in {listed(files)}", files=files)

    async def _git(self, *words: str) -> Completed:
        return await run_command(
            ["git", *QUIET, "-c", "rebase.backend=merge", *words],
            directory=self.top,
            timeout_s=CLONE_S,
            env=own_environment() | {"GIT_EDITOR": ":"},
        )


def throwaway(repository: Repository) -> Path:
    """Return a new folder for a clone that nobody keeps."""
    home = clones_of(repository) / f"{_THROWAWAY}{secrets.token_hex(8)}"
    make_folder(home / KEPT)
    return home


def remove_throwaways(repository: Repository) -> None:
    """Remove the clones of landings that have ended or were killed; call it as the only one that lands."""
    for stale in clones_of(repository).glob(f"{_THROWAWAY}*"):
        shutil.rmtree(stale, ignore_errors=True)  # a process of a killed check may still write there
