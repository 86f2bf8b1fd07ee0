"""A git directory of Spool's own beside the user's, in which the working tree is recorded without touching theirs.

Comparing two recorded trees tells what an iteration changed, and runs none of the user's filters or hooks.
"""

import hashlib
import os
import shutil

from spool.domain.state import Changes
from spool.errors import CommandFailed
from spool.host.files import make_folder, replace_file
from spool.host.git import Repository, ask_git, git_environment

FILES_LISTED = 200
_SETTINGS = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tautocrlf = false
\tcompression = 0
\tbigFileThreshold = 1m
\tlogAllRefUpdates = false
\tsymlinks = true
[gc]
\tauto = 0
{extensions}"""
_ATTRIBUTES = "* -text -ident -filter !eol !working-tree-encoding\n"
_EXCLUDED = "/.spool/.state/\n"


class Shadow:
    """Records the working tree of one repository as git trees."""

    def __init__(self, repository: Repository, *, timeout_s: float) -> None:
        self._repository = repository
        self._timeout_s = timeout_s
        key = hashlib.sha256(os.fsencode(repository.top)).hexdigest()[:16]
        self.git_dir = repository.spool_dir / "shadow" / key
        self._env = git_environment(GIT_DIR=str(self.git_dir), GIT_WORK_TREE=str(repository.top))

    async def tree(self) -> str:
        """Record the working tree as it is now, ignored files aside, and return the tree's name."""
        try:
            return await self._record()
        except CommandFailed:
            # Its index may name objects that the user's `git gc` has taken: begin anew, once.
            shutil.rmtree(self.git_dir, ignore_errors=True)
            return await self._record()

    async def compare(self, before: str, after: str) -> Changes:
        """Return what changed from one recorded tree to another."""
        if before == after:
            return Changes(count=0)
        told = await self._git("diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", before, after)
        rows = [row.split("\t", 2) for row in told.split("\0") if row]
        files = tuple(row[2] for row in rows)
        return Changes(
            count=len(files),
            files=files[:FILES_LISTED],
            insertions=sum(int(row[0]) for row in rows if row[0] != "-"),
            deletions=sum(int(row[1]) for row in rows if row[1] != "-"),
        )

    async def _record(self) -> str:
        self._prepare()
        await self._git("add", "--all", "--", ".")
        return await self._git("write-tree")

    def _prepare(self) -> None:
        """Make the shadow, by hand: `git init` would copy the user's templates, hooks and all."""
        if (self.git_dir / "HEAD").exists():
            return
        sha256 = self._repository.object_format == "sha256"
        for folder in ("objects/info", "refs/heads", "info"):
            make_folder(self.git_dir / folder)
        extensions = "[extensions]\n\tobjectFormat = sha256\n" if sha256 else ""
        exclude = self._repository.common_dir / "info" / "exclude"
        inherited = exclude.read_bytes() if exclude.is_file() else b""
        objects = os.fsencode(self._repository.common_dir / "objects")
        settings = _SETTINGS.format(version=1 if sha256 else 0, extensions=extensions)
        for name, content in {
            "config": settings.encode(),
            "info/attributes": _ATTRIBUTES.encode(),
            "info/exclude": inherited + b"\n" + _EXCLUDED.encode(),
            "objects/info/alternates": objects + b"\n",
            "HEAD": b"ref: refs/heads/spool\n",
        }.items():
            replace_file(self.git_dir / name, content)

    async def _git(self, *words: str) -> str:
        done = await ask_git(*words, directory=self._repository.top, timeout_s=self._timeout_s, env=self._env)
        return done.text
