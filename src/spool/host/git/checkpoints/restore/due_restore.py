"""The note that a restore is under way: until it is whole, it is due."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from spool.host.state.files import replace_file
from spool.nofollow import read_linked


class Destination(NamedTuple):
    """The snapshot to which a restore leads, and the attempt that holds the tree before; empty if none is due."""

    target: str = ""
    attempt: str = ""


class DueRestore:
    """The file that outlives whoever restores."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Destination:
        """Return where a restore that was cut short leads."""
        with suppress(FileNotFoundError):
            return Destination(*read_linked(self._path).decode("utf-8").split("\n", 1))
        return Destination()

    def save(self, target: str, attempt: str) -> None:
        """Note that a restore begins."""
        replace_file(self._path, f"{target}\n{attempt}".encode())

    def clear(self) -> None:
        """Note that the tree is whole."""
        self._path.unlink(missing_ok=True)
