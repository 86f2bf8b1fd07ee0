"""Where a revert puts what it takes out of the tree and git cannot hold: a new clone, a huge file, a FIFO."""

import errno
import os
import shutil
from pathlib import Path

from spool.host.checkpoints.paths import place, status
from spool.host.files import make_folder, replace_file


class Aside:
    """The folder of one discarded attempt. A rename costs nothing, whatever the size, and can be undone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, top: bytes, name: bytes, *, known_as: bytes) -> None:
        """Move something out of the tree."""
        make_folder(self._folder)
        number = len(list(self._folder.glob("*.name")))
        replace_file(self._folder / f"{number}.name", known_as)
        _move(place(top, name), self._folder / str(number))

    def bring_back(self, top: bytes) -> list[bytes]:
        """Move everything back to where it was, and return what found its place taken."""
        taken = []
        for label in sorted(self._folder.glob("*.name"), key=lambda path: int(path.stem)):
            name = label.read_bytes()
            if not os.path.lexists(label.with_suffix("")):
                continue
            if status(top, name) is not None:
                taken.append(name)
                continue
            place(top, name).parent.mkdir(parents=True, exist_ok=True)
            _move(label.with_suffix(""), place(top, name))
        return taken

    def remove(self) -> None:
        """Let go of it all."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _move(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(source, target)
