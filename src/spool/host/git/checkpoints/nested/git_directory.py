"""The git directory of a nested repository: whether it is still the recorded one, and how to restore it."""

import os
from pathlib import Path

from spool.host.git.checkpoints.nested.git_directory_copy import GitDirectoryCopy
from spool.host.git.checkpoints.restore.displaced_files import DisplacedFiles
from spool.host.git.checkpoints.snapshot import RepositoryPart
from spool.host.git.checkpoints.worktree_identity import mark_of, new_mark, put_mark
from spool.host.git.leading_out import leads_out
from spool.host.git.repository import Repository
from spool.host.state.files import replace_file
from spool.nofollow import read_linked


class NestedGitDirectory:
    """The git directory of a nested folder. An agent can remove it, and put another one in its place."""

    def __init__(self, repository: Repository, path: bytes, *, outer: Path, copy: GitDirectoryCopy) -> None:
        """`outer` is the git directory around it, in which those of submodules are."""
        self._repository = repository
        self._git_dir = repository.git_dir
        self._link = repository.top / ".git"
        self._copy = copy
        self._outer = outer
        self._link_name = path + b"/.git"
        inside = repository.git_dir.is_relative_to(outer)
        self._name = b"/" + bytes(repository.git_dir.relative_to(outer)) if inside else b""

    def mark(self, *, new: bool) -> str:
        """Return its id, a new one if it has none and is to get one."""
        if self._git_dir != self._repository.common_dir or not self._git_dir.is_dir():
            return ""
        mark = mark_of(self._git_dir)
        return put_mark(self._git_dir, new_mark()) if new and not mark else mark

    def is_itself(self, then: RepositoryPart) -> bool:
        """Whether what stands here is what was recorded."""
        if link_of(self._link) != then.link or (then.link is None and not self._link.is_dir()):
            return False
        if self._repository.is_clone and leads_out(self._git_dir):
            return False
        return self._git_dir.is_dir() and not (then.mark and mark_of(self._git_dir) != then.mark)

    def exchange(self, target: RepositoryPart, aside: DisplacedFiles, own: DisplacedFiles) -> None:
        """Restore the target's git directory, from what it had aside or from the copy; move another one aside."""
        self._repository.top.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(self._link) and self._is_other_link(target, own):
            aside.put(os.fsencode(self._repository.top), b".git", known_as=self._link_name)
        if not os.path.lexists(self._link) and not own.give_back(self._link_name, self._link) and target.link:
            replace_file(self._link, target.link)
            self._link.chmod(0o644)
        if self._name:
            self._exchange_outside(target, aside, own)
        if self._copy.exists and not self._git_dir.exists() and not target.stranger:
            self._copy.restore(self._git_dir)
            if target.mark:
                put_mark(self._git_dir, target.mark)

    def _exchange_outside(self, target: RepositoryPart, aside: DisplacedFiles, own: DisplacedFiles) -> None:
        if self._git_dir.exists() and self._is_other(target, own, self._name):
            aside.put(os.fsencode(self._outer), self._name[1:], known_as=self._name)
        if not self._git_dir.exists():
            own.give_back(self._name, self._git_dir)

    def _is_other_link(self, target: RepositoryPart, own: DisplacedFiles) -> bool:
        if target.stranger or target.link is None:
            return self._is_other(target, own, self._link_name)
        return link_of(self._link) != target.link

    def _is_other(self, target: RepositoryPart, own: DisplacedFiles, name: bytes) -> bool:
        """Whether a git directory is not the target's, if the target's can be put in its place."""
        if target.stranger:
            return own.holds(name)
        return (own.holds(name) or self._copy.exists) and not self.is_itself(target)


def link_of(path: Path) -> bytes | None:
    """Return the content of a `.git` that is a file."""
    return read_linked(path) if path.is_file() else None
