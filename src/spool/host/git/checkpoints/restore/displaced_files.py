"""Keeps what a revert takes out of the tree and git cannot hold: a new clone, a huge file, a FIFO."""

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import Self

from spool.host.git.checkpoints.paths import is_folder, place, status
from spool.host.git.checkpoints.record.mounts import holds_mount, remove_folder
from spool.host.state.files import replace_file
from spool.nofollow import make_folder, read_linked


class DisplacedFiles:
    """The folder of one discarded attempt. A rename costs nothing, whatever the size, and can be undone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, top: bytes, name: bytes, *, known_as: bytes) -> None:
        """Move something out of the tree, unless a file system is mounted there."""
        if holds_mount(top + b"/" + name):
            raise OSError(errno.EBUSY, "something is mounted there")
        make_folder(self._folder)
        number = len(list(self._folder.glob("*.name")))
        replace_file(self._folder / f"{number}.name", known_as)
        _move(place(top, name), self._folder / str(number))

    def bring_back(self, top: bytes, instead: Self) -> None:
        """Move everything back to where it was; what stands there now goes aside in its turn."""
        for name, source in self._all().items():
            if not name.startswith(b"/"):
                _merge(source, top, name, instead)

    def holds(self, name: bytes) -> bool:
        """Whether something of this name is here."""
        return name in self._all()

    def give_back(self, name: bytes, target: Path) -> bool:
        """Move one thing out of here; return whether it was here."""
        source = self._all().get(name)
        if source is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            _move(source, target)
        return source is not None

    def _all(self) -> dict[bytes, Path]:
        """Return what is here, by name; names that begin with a slash are not of the working tree."""
        labels = sorted(self._folder.glob("*.name"), key=lambda path: int(path.stem))
        return {read_linked(label): label.with_suffix("") for label in labels if os.path.lexists(label.with_suffix(""))}

    @property
    def used(self) -> bool:
        """Whether anything was moved here."""
        return self._folder.is_dir()

    def remove(self) -> None:
        """Remove all."""
        remove_folder(self._folder)


def _merge(source: Path, top: bytes, name: bytes, instead: DisplacedFiles) -> None:
    target = place(top, name)
    if is_folder(top, name) and _can_be_merged(source, name):
        for child in list(source.iterdir()):
            _merge(child, top, name + b"/" + os.fsencode(child.name), instead)
        source.rmdir()
        return
    if status(top, name) is not None:
        instead.put(top, name, known_as=name)
    target.parent.mkdir(parents=True, exist_ok=True)
    _move(source, target)


def _can_be_merged(source: Path, name: bytes) -> bool:
    """Whether what is in a folder can be put into another one; two git directories make no third."""
    if not source.is_dir() or source.is_symlink() or name.rpartition(b"/")[2] == b".git":
        return False
    return os.access(source, os.R_OK | os.W_OK | os.X_OK)


def _move(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except PermissionError:
        _move_closed(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_far(source, target)


def _move_far(source: Path, target: Path) -> None:
    """Move something to another file system; a FIFO cannot be copied."""
    mode = source.lstat().st_mode
    if stat.S_ISFIFO(mode):
        os.mkfifo(target)
        target.chmod(stat.S_IMODE(mode))
        source.unlink()
    else:
        shutil.move(source, target)


def _move_closed(source: Path, target: Path) -> None:
    """Move a folder of ours that we may not write to: its own `..` changes with the move."""
    mode = source.lstat().st_mode
    if not stat.S_ISDIR(mode) or stat.S_IMODE(mode) & stat.S_IRWXU == stat.S_IRWXU:
        raise PermissionError(errno.EACCES, "not allowed to move it")
    source.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
    source.rename(target)
    target.chmod(stat.S_IMODE(mode))
