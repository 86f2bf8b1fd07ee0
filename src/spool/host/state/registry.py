"""The runs on this machine: one small file each, whichever front door started it and in whichever project.

A runner enters itself and says how it ended. One that was killed cannot, so every reader checks whether it is alive.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.loop import SCHEMA, LoopSummary, settled
from spool.host.runner.identity import is_alive
from spool.host.state.files import make_folder, replace_file
from spool.host.state.records import encoded

KEPT = 100
"""Finished runs that stay listed."""


class Registry:
    """The folder with one summary per run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def enter(self, loop: LoopSummary) -> None:
        """Add a run, or replace its summary."""
        make_folder(self.folder)
        replace_file(self._path(loop.run_id), msgspec.json.format(encoded(loop), indent=2) + b"\n")

    def find(self, run_id: str) -> LoopSummary | None:
        """Return the summary of a run, if it is known."""
        found = _read(self._path(run_id))
        return found and _settled(found)

    def runs(self) -> list[LoopSummary]:
        """Return every run, oldest first."""
        found = [loop for path in self._paths() if (loop := _read(path))]
        return sorted(map(_settled, found), key=lambda loop: (loop.started_at, loop.run_id))

    def running(self) -> list[LoopSummary]:
        """Return the runs in progress."""
        return [loop for loop in self.runs() if loop.running]

    def prune(self) -> None:
        """Forget the oldest finished runs, with the files beside them."""
        finished = [loop for loop in self.runs() if not loop.running]
        for loop in finished[: max(0, len(finished) - KEPT)]:
            for path in self.folder.glob(f"*-{loop.id}.*"):
                with suppress(OSError):
                    path.unlink()

    def beside(self, run_id: str, suffix: str) -> Path:
        """Return the path of a file that lives and goes with a run."""
        return self.folder / f"{run_id}.{suffix}"

    def _path(self, run_id: str) -> Path:
        return self.folder / f"{run_id}.json"

    def _paths(self) -> Iterator[Path]:
        return self.folder.glob("[0-9]*-*.json")


def this_machine() -> Registry:
    """Return the user's registry on this machine."""
    return Registry(user_state() / "loops")


def user_state() -> Path:
    """Return the user's own state directory, out of reach of an agent in the tree."""
    import platformdirs

    return platformdirs.user_state_path("spool")


def _settled(loop: LoopSummary) -> LoopSummary:
    return settled(loop, alive=is_alive(loop.runner))


def _read(path: Path) -> LoopSummary | None:
    """Return a run's summary; one of a newer Spool, or an unreadable one, is passed over and stays where it is."""
    try:
        loop = msgspec.json.decode(path.read_bytes(), type=LoopSummary)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return loop if loop.schema <= SCHEMA else None
