"""A copy of the git directory of a nested repository, which an agent can remove together with its files."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from spool.host.git.checkpoints.record.mounts import remove_folder
from spool.nofollow import make_folder

_OBJECTS = "objects"
_ELSEWHERE = {"spool", "modules", "worktrees"}
"""Folders left out: submodules of a submodule have copies of their own."""
_MOST_OBJECTS = 50_000


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
