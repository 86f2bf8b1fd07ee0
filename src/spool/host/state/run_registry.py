"""Lists the runs on this machine, of every project and command: one small file each.

A runner adds itself and records how it ended. A killed one cannot, so every reader checks whether it is alive.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.loop.plan_memory import loop_in
from spool.domain.loop.summary import SCHEMA, LoopSummary, settled
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError, StateError
from spool.host.runner.identity import is_alive
from spool.host.state.files import replace_file
from spool.host.state.places import user_state
from spool.host.state.records import encoded
from spool.nofollow import make_folder, read_file, read_linked

_STOPPED_BY = "stopped-by"
KEPT = 100
"""The number of finished runs to keep."""


class Registry:
    """The folder with one summary per run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def enter(self, loop: LoopSummary) -> None:
        """Add a run, or replace its summary."""
        make_folder(self.folder)
        replace_file(self._path(loop.run_id), msgspec.json.format(encoded(loop), indent=2) + b"\n")

    def find(self, run_id: str) -> LoopSummary | None:
        """Return a run's summary; None if the run is unknown."""
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
        """Remove the oldest finished runs with their files, and the files of older starts that failed."""
        listed = self.runs()
        finished = [loop.run_id for loop in listed if not loop.running]
        old = set(finished[:-KEPT])
        kept, newest = {loop.run_id for loop in listed} - old, max(old, default="")
        for path in self.folder.glob("[0-9]*-*.*") if old else ():
            run_id, _, suffix = path.name.partition(".")
            if run_id in old or (run_id < newest and run_id not in kept and suffix != "json"):
                with suppress(OSError):
                    path.unlink()

    def beside(self, run_id: str, suffix: str) -> Path:
        """Return the path of a file that is removed with its run."""
        return self.folder / f"{run_id}.{suffix}"

    def _path(self, run_id: str) -> Path:
        return self.folder / f"{run_id}.json"

    def _paths(self) -> Iterator[Path]:
        return self.folder.glob("[0-9]*-*.json")


def this_machine() -> Registry:
    """Return the user's registry on this machine."""
    return Registry(user_state() / "loops")


def note_stop(run_id: str, by: str) -> None:
    """Write down who is about to stop a run, for its runner to report; without it only the signal is known."""
    with suppress(OSError, StateError):
        replace_file(this_machine().beside(run_id, _STOPPED_BY), by.encode())


def stopped_by(run_id: str) -> str:
    """Return who stopped a run, as noted; an empty text if nobody is known."""
    with suppress(OSError, SpoolError):
        said = read_file(this_machine().beside(run_id, _STOPPED_BY))
        return one_line(said.decode("utf-8", "replace"), 40)
    return ""


def _settled(loop: LoopSummary) -> LoopSummary:
    return settled(loop, alive=is_alive(loop.runner))


def _read(path: Path) -> LoopSummary | None:
    """Return a run's summary; None if it is unreadable or from a newer Spool. The file stays in place."""
    try:
        loop = loop_in(read_linked(path), LoopSummary)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return loop if loop.schema <= SCHEMA else None
