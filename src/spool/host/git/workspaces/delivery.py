"""Moves the commits of a clone to a branch of the person's repository.

First they are fetched to a ref of Spool's, where nothing can lose them. Then the branch moves from where Spool left it
to the new commit, in one transaction that fails if the branch is anywhere else: somebody moved it, and it is theirs.
"""

import asyncio
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.change.workspaces import Workspace
from spool.domain.text.plain_text import one_line
from spool.errors import BranchMoved, CommandFailed
from spool.host.external_command import Completed, checked, run_command
from spool.host.git.repository import QUIET, bound_environment
from spool.host.git.workspaces.transport import UPLOAD_PACK, fetch_back

FETCHED = "refs/spool/fetched/"
"""The commit that was last fetched from the clone of a change."""
LEFT = "refs/spool/left/"
"""The prefix of branches as Spool left them."""
_PAUSES_S = (0.1, 0.3, 0.6)


class Delivered(msgspec.Struct, frozen=True, kw_only=True):
    """A branch after its clone's commits have reached it."""

    branch: str
    commit: str
    moved: bool
    """Whether there was anything new."""


class Branches:
    """The branches of a person's repository, as far as Spool moves them. None of its hooks run."""

    def __init__(self, common_dir: Path, *, timeout_s: float) -> None:
        self._common_dir = common_dir
        self._timeout_s = timeout_s
        self._env = bound_environment(common_dir, common_dir)
        self._env.pop("GIT_WORK_TREE")

    async def commit_of(self, name: str) -> str:
        """Return the commit of a ref; empty if there is none."""
        done = await self._run("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}")
        return "" if done.exit_code else done.text

    async def require_unmoved(self, change: str, branch: str) -> None:
        """Raise BranchMoved if somebody moved a branch since Spool left it, or has it checked out."""
        current = await self.commit_of(f"refs/heads/{branch}")
        if current not in await self._known(change):
            raise _moved(change, branch, current)
        await self.require_free(branch)

    async def leave(self, change: str, commit: str) -> None:
        """Note where the branch of a new clone is; empty if there is none yet."""
        for name in (f"{FETCHED}{change}", f"{LEFT}{change}"):
            if await self.commit_of(name):
                await self._update(f"delete {name}")
        if commit:
            await self._update(f"update {LEFT}{change} {commit}")

    async def deliver(self, change: str, workspace: Workspace, *, served_by: str = UPLOAD_PACK) -> Delivered:
        """Fetch what a clone has checked out, and move its branch there.

        Try again for a moment: the git of a run that was killed may still hold the lock of a ref.
        """
        for pause_s in _PAUSES_S:
            with suppress(CommandFailed):
                return await self._deliver(change, workspace, served_by)
            await asyncio.sleep(pause_s)
        return await self._deliver(change, workspace, served_by)

    async def _deliver(self, change: str, workspace: Workspace, served_by: str) -> Delivered:
        fetched, branch = f"{FETCHED}{change}", f"refs/heads/{workspace.branch}"
        clone = Path(workspace.path) / ".git"
        known = await self._known(change)
        await fetch_back(clone, self._common_dir, ref=fetched, timeout_s=self._timeout_s, served_by=served_by)
        new, current = await self.commit_of(fetched), await self.commit_of(branch)
        if not new:
            raise CommandFailed(f"{clone} has no commit checked out")
        await self._require_no_state(new)
        if current == new:  # a run that was killed had moved it
            await self._update(f"update {LEFT}{change} {new}")
            return Delivered(branch=workspace.branch, commit=new, moved=False)
        if current not in known:
            raise _moved(change, workspace.branch, current)
        await self.require_free(workspace.branch)
        try:
            await self._update(f"update {branch} {new} {current or '0' * len(new)}", f"update {LEFT}{change} {new}")
        except CommandFailed:
            if await self.commit_of(branch) == current:  # not moved meanwhile: git has another reason
                raise
            raise _moved(change, workspace.branch, await self.commit_of(branch)) from None
        return Delivered(branch=workspace.branch, commit=new, moved=True)

    async def _require_no_state(self, commit: str) -> None:
        """Raise if an agent committed files where Spool keeps its state: a merge would put them in place of Spool's."""
        listed = await self._run("ls-tree", "-r", "-z", "--name-only", commit)
        if found := first_of_state(listed.text):
            raise CommandFailed(
                f"the commits of the clone hold Spool's own state, {one_line(found, 200)}; their branch is not moved",
                hint="take that file out of the commits in the clone, and run again",
            )

    async def _known(self, change: str) -> set[str]:
        """Return where a branch may be: where Spool left it, or where a person put it to take what was fetched."""
        left = await self.commit_of(f"{LEFT}{change}")
        return {left, await self.commit_of(f"{FETCHED}{change}") or left}

    async def require_free(self, branch: str) -> None:
        """Raise if a working tree has the branch checked out: its files would look changed."""
        listed = await self._run("worktree", "list", "--porcelain", "-z")
        for record in listed.text.split("\0\0"):
            fields = dict(line.partition(" ")[::2] for line in record.split("\0"))
            if fields.get("branch") == f"refs/heads/{branch}":
                raise BranchMoved(
                    f"{branch} is checked out in {fields['worktree']}", hint="check out another branch there first"
                )

    async def _update(self, *lines: str) -> None:
        reason = ("--create-reflog", "-m", "spool: fetched from a clone")
        script = "".join(f"{line}\n" for line in ("start", *lines, "commit"))
        await checked(
            ["git", *QUIET, "-c", "core.fsync=all", "update-ref", *reason, "--stdin"],
            directory=self._common_dir,
            timeout_s=self._timeout_s,
            env=self._env,
            stdin=script.encode(),
        )

    async def _run(self, *words: str) -> Completed:
        return await run_command(
            ["git", *QUIET, *words], directory=self._common_dir, timeout_s=self._timeout_s, env=self._env
        )


def first_of_state(listed: str) -> str:
    """Return the first of some paths, separated by NUL, that is or holds Spool's state; empty if none does."""
    for path in listed.split("\0"):
        whole = f"/{path}/"  # a link may stand where a folder should
        if "/.spool/.state/" in whole or whole.endswith("/.spool/"):
            return path
    return ""


def _moved(change: str, branch: str, current: str) -> BranchMoved:
    where = f"is at {current[:12]} now" if current else "was deleted"
    return BranchMoved(
        f"somebody moved {branch} (it {where}), so it is left as it is; the work is at {FETCHED}{change}",
        hint=f"merge it: git merge {FETCHED}{change}; or take it as it is: git branch -f {branch} {FETCHED}{change}",
        moved=True,
    )
