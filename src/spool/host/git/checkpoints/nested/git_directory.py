"""The git directory of a repository: its essential files, and a copy of a nested one, which an agent can remove."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from spool.host.git.checkpoints.record.mounts import remove_folder
from spool.host.git.checkpoints.restore.displaced_files import DisplacedFiles
from spool.host.git.checkpoints.snapshot import RepositoryPart
from spool.host.git.checkpoints.worktree_identity import mark_of, new_mark, put_mark
from spool.host.git.leading_out import leads_out
from spool.host.git.repository import Repository
from spool.host.state.files import replace_file
from spool.nofollow import make_folder, read_linked

_OBJECTS = "objects"
_ELSEWHERE = {"spool", "modules", "worktrees"}
"""Folders left out: submodules of a submodule have copies of their own."""
_MOST_OBJECTS = 50_000
_ESSENTIALS = ("HEAD", "config", "config.worktree", "packed-refs")
"""Files without which git refuses a git directory, or refs."""
_SHARED = ("config", "packed-refs")
"""Those of all working trees together."""
_MOST_BYTES = 1 << 20


class GitDirectoryCopy:
    """The copy of one git directory. Objects never change and are hard links; all else is small and copied."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, int] = {}

    @property
    def objects(self) -> Path:
        """The second names of its objects."""
        return self._folder / _OBJECTS

    @property
    def exists(self) -> bool:
        """Whether there is a whole copy."""
        return (self._folder / "HEAD").is_file()

    def update(self, git_dir: Path) -> None:
        """Update the copy. HEAD is written last: it says that the copy is whole."""
        seen = {str(path): path.stat().st_mtime_ns for path in [git_dir / _OBJECTS, *(git_dir / _OBJECTS).iterdir()]}
        make_folder(self._folder)
        if seen != self._seen or not self.exists:
            if sum(len(files) for _, _, files in os.walk(git_dir / _OBJECTS)) > _MOST_OBJECTS:
                return
            (self._folder / "HEAD").unlink(missing_ok=True)
            _link_all(git_dir / _OBJECTS, self._folder / _OBJECTS)
            self._seen = seen
        _copy_rest(git_dir, self._folder)

    def restore(self, git_dir: Path) -> None:
        """Make a git directory out of the copy."""
        git_dir.mkdir(parents=True, exist_ok=True)
        _link_all(self._folder / _OBJECTS, git_dir / _OBJECTS)
        _copy_rest(self._folder, git_dir)

    def remove(self) -> None:
        """Remove the copy."""
        self._seen = {}
        if self._folder.is_dir():
            remove_folder(self._folder)


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


def read_essentials(repository: Repository) -> dict[str, bytes]:
    """Return what the files hold without which git refuses a git directory, where they exist."""
    found = {name: content_of(repository, name) for name in _ESSENTIALS}
    return {name: content for name, content in found.items() if content is not None}


def content_of(repository: Repository, name: str) -> bytes | None:
    """Return what one of them holds; None if there is none."""
    with suppress(OSError):
        path = _path(repository, name)
        return read_linked(path, most_bytes=_MOST_BYTES)
    return None


def put_essential(repository: Repository, name: str, content: bytes) -> Path | None:
    """Write one of them; return where the one that stood there is now."""
    path = _path(repository, name)
    aside = path.with_name(f"{name}.unreadable") if os.path.lexists(path) else None
    if aside is not None:
        path.rename(aside)
    replace_file(path, content)
    path.chmod(0o644)
    return aside


def _path(repository: Repository, name: str) -> Path:
    return (repository.common_dir if name in _SHARED else repository.git_dir) / name


def _link_all(source: Path, target: Path) -> None:
    """Hard-link each object; where the file system cannot, copy it. Objects that are gone go here too."""
    for folder, _, files in os.walk(source):
        inside = target / Path(folder).relative_to(source)
        inside.mkdir(parents=True, exist_ok=True)
        there = {entry.name for entry in inside.iterdir() if entry.is_file()}
        for name in set(files) - there:
            try:
                os.link(Path(folder) / name, inside / name)
            except OSError:
                shutil.copy2(Path(folder) / name, inside / name)
        for name in there - set(files):
            (inside / name).unlink()


def _copy_rest(source: Path, target: Path) -> None:
    for entry in sorted(source.iterdir(), key=lambda path: path.name == "HEAD"):
        if entry.name in _ELSEWHERE or entry.name == _OBJECTS or entry.suffix == ".lock":
            continue
        with suppress(FileNotFoundError):
            if entry.is_dir() and not entry.is_symlink():
                shutil.copytree(entry, target / entry.name, symlinks=True, dirs_exist_ok=True)
            elif entry.is_file():
                shutil.copy2(entry, target / entry.name, follow_symlinks=False)
