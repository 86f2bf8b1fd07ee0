"""Finds what a workspace holds that is on no branch of the person's repository, before it is removed.

Files are compared with a commit by a git directory of Spool's own, which borrows the person's objects: the index,
the settings and the ignore rules in a clone's git directory are the agent's, and are not asked.
"""

import filecmp
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.errors import CommandError, CommandFailed
from spool.host.external_command import Completed, checked, run_command
from spool.host.git.checkpoints.record.mounts import remove_folder
from spool.host.git.repository import QUIET, bound_environment
from spool.host.git.workspaces.transport import UPLOAD_PACK, list_refs
from spool.host.state.files import replace_file
from spool.host.state.loop_files import OWN_FILES
from spool.nofollow import make_folder

_STATUS = (
    "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=traditional",
    "--ignore-submodules=all",
)  # fmt: skip
_OURS = (".spool/.state/", *OWN_FILES)
_VIEW = "view"
_MOST_COMMITS = 500
"""Each costs a git command; an agent can make any number of refs."""


class Loose(msgspec.Struct, frozen=True, kw_only=True):
    """Work on no branch."""

    files: tuple[str, ...] = ()
    """Changed, untracked and single ignored files; not ignored folders, nor copies of the person's ignored files."""
    commits: tuple[str, ...] = ()
    """Refs of the workspace with commits that no branch has."""
    unknown: str = ""
    """Why it cannot be known."""

    @property
    def nothing(self) -> bool:
        """Whether everything is on a branch."""
        return not (self.files or self.commits or self.unknown)


class Inspection:
    """Compares one workspace with the person's repository."""

    def __init__(self, common_dir: Path, main: Path, *, timeout_s: float) -> None:
        self._common_dir = common_dir
        self._main = main
        self._timeout_s = timeout_s
        self._env = bound_environment(common_dir, common_dir)
        self._env.pop("GIT_WORK_TREE")

    async def of_clone(
        self, top: Path, kept: Path, commit: str, object_format: str, *, served_by: str = UPLOAD_PACK
    ) -> Loose:
        """Return what a clone holds beyond the person's branches; `commit` is what it has checked out."""
        try:
            refs = await list_refs(top / ".git", self._common_dir, timeout_s=self._timeout_s, served_by=served_by)
            commits = await self._commits(refs)
            files = await self._files(top, kept / _VIEW, commit, object_format)
        except (CommandError, OSError) as error:
            return Loose(unknown=str(error))
        return Loose(files=tuple(files), commits=tuple(commits))

    async def of_worktree(self, top: Path) -> Loose:
        """Return what a worktree holds beyond the branches of its repository."""
        try:
            listed = await checked(
                ["git", *QUIET, *_STATUS], directory=top, timeout_s=self._timeout_s, env=_without_binding(self._env)
            )
            head = await run_command(
                ["git", *QUIET, "rev-parse", "--quiet", "--verify", "HEAD"],
                directory=top, timeout_s=self._timeout_s, env=_without_binding(self._env),
            )  # fmt: skip
            on_branch = not head.text or await self._is_on_branch(head.text)
        except (CommandError, OSError) as error:
            return Loose(unknown=str(error))
        return Loose(files=tuple(self._loose(listed, top)), commits=() if on_branch else ("HEAD",))

    async def _commits(self, refs: Mapping[str, str]) -> list[str]:
        """Return the refs whose commits no branch has; raise if there are too many to look at each."""
        oids = set(refs.values())
        if len(oids) > _MOST_COMMITS:
            raise CommandFailed(f"its refs name {len(oids)} commits, too many to look at")
        on_branch = {oid: await self._is_on_branch(oid) for oid in oids}
        return [name for name, oid in refs.items() if not on_branch[oid]]

    async def _is_on_branch(self, oid: str) -> bool:
        words = ("rev-list", "--count", oid, "--not", "--branches", "--remotes")
        done = await run_command(
            ["git", *QUIET, *words], directory=self._common_dir, timeout_s=self._timeout_s, env=self._env
        )
        return done.exit_code == 0 and done.text == "0"

    async def _files(self, top: Path, view: Path, commit: str, object_format: str) -> list[str]:
        sha256 = object_format == "sha256"
        extensions = "[extensions]\n\tobjectFormat = sha256\n" if sha256 else ""
        for folder in ("objects/info", "refs"):
            make_folder(view / folder)
        for name, content in {
            "config": f"[core]\n\trepositoryformatversion = {int(sha256)}\n\tbare = false\n{extensions}".encode(),
            "HEAD": f"{commit}\n".encode(),
            "objects/info/alternates": os.fsencode(self._common_dir / "objects") + b"\n",
        }.items():
            replace_file(view / name, content)
        env = bound_environment(view, top, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
        try:
            for words in (("read-tree", "HEAD"), _STATUS):
                done = await checked(["git", *QUIET, *words], directory=top, timeout_s=self._timeout_s, env=env)
        finally:
            remove_folder(view)
        return self._loose(done, top)

    def _loose(self, listed: Completed, top: Path) -> list[str]:
        found = []
        for row in listed.text.split("\0"):
            how, name = row[:2], row[3:]
            if not name or name.startswith(_OURS) or "/.spool/.state/" in f"/{name}":
                continue
            if how == "!!" and (name.endswith("/") or _same(top / name, self._main / name)):
                continue
            found.append(name)
        return found


def _same(path: Path, other: Path) -> bool:
    """Whether a file is a copy of another."""
    with suppress(OSError):
        return not path.is_symlink() and not other.is_symlink() and filecmp.cmp(path, other, shallow=False)
    return False


def _without_binding(env: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name != "GIT_DIR"}
