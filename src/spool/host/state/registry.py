"""The loops on this machine: one small file per run, whichever front door started it and in whichever project.

A runner enters itself and takes itself out. One that was killed cannot, so every reader asks whether it still lives.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from spool.domain.state import SCHEMA, Runner
from spool.domain.verdict import Status
from spool.host.runner.identity import is_alive
from spool.host.state.files import make_folder, replace_file
from spool.host.state.records import encoded

KEPT = 100
"""Finished runs that `--all` still shows."""
DIED = "its runner died; the same command goes on from here"
_POLL_S = 0.05


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a loop."""

    schema: int = SCHEMA
    run_id: str
    runner: Runner
    door: str
    """Which command it is: `ralph`, `run` or `wt-loop`."""
    change: str
    project: str
    """The repository's main directory."""
    worktree: str
    state: str
    """The loop's state folder."""
    terminal: str = ""
    """Where it shows itself: a terminal's name, `tmux:SESSION`, or nothing for the terminal it was typed in."""
    log: str | None = None
    """The file that holds what the terminal showed, if there is one."""
    started_at: datetime
    ended_at: datetime | None = None
    status: Status = Status.RUNNING
    reason: str = ""
    iteration: int = 0
    """The last iteration's number, once the run has ended."""

    @property
    def short_id(self) -> str:
        """The part of the run id that a person types."""
        return self.run_id.rpartition("-")[2]

    @property
    def running(self) -> bool:
        """Whether the loop still runs: it has not ended, and its runner lives."""
        return self.ended_at is None and is_alive(self.runner)


def told(entry: Entry) -> Entry:
    """Return the entry as a reader must tell it: a run whose runner died is stopped, whatever the file says."""
    if entry.ended_at is not None or is_alive(entry.runner):
        return entry
    return msgspec.structs.replace(entry, status=Status.STOPPED, reason=DIED)


class Registry:
    """The folder with the entries."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def enter(self, entry: Entry) -> None:
        """Add a run, or replace what is told of it."""
        make_folder(self.folder)
        replace_file(self._path(entry.run_id), msgspec.json.format(encoded(entry), indent=2) + b"\n")

    def find(self, run_id: str) -> Entry | None:
        """Return the entry of a run, if there is one."""
        return _read(self._path(run_id))

    def entries(self) -> list[Entry]:
        """Return every run, the oldest first."""
        found = [entry for path in self._paths() if (entry := _read(path))]
        return sorted(map(told, found), key=lambda entry: (entry.started_at, entry.run_id))

    def running(self) -> list[Entry]:
        """Return the runs that are going on now."""
        return [entry for entry in self.entries() if entry.running]

    def prune(self) -> None:
        """Forget the oldest finished runs, with the files that stand beside them."""
        finished = [entry for entry in self.entries() if not entry.running]
        for entry in finished[: max(0, len(finished) - KEPT)]:
            for path in self.folder.glob(f"*-{entry.short_id}.*"):
                with suppress(OSError):
                    path.unlink()

    def wait_for(self, run_id: str, *, seconds: float, going: Callable[[], bool]) -> Entry | None:
        """Wait until a run has entered itself; None if it did not in time, or nothing is `going` any more."""
        deadline = time.monotonic() + seconds
        while (entry := self.find(run_id)) is None:
            if time.monotonic() > deadline:
                return None
            if not going():
                return self.find(run_id)
            time.sleep(_POLL_S)
        return entry

    def beside(self, run_id: str, suffix: str) -> Path:
        """Return the path of a file that lives and goes with an entry."""
        return self.folder / f"{run_id}.{suffix}"

    def _path(self, run_id: str) -> Path:
        return self.folder / f"{run_id}.json"

    def _paths(self) -> Iterator[Path]:
        return self.folder.glob("[0-9]*-*.json")


def this_machine() -> Registry:
    """Return the user's registry on this machine."""
    import platformdirs

    return Registry(platformdirs.user_state_path("spool") / "loops")


def _read(path: Path) -> Entry | None:
    """Return an entry; one of a newer Spool, or no entry at all, is passed over and stays where it is."""
    try:
        entry = msgspec.json.decode(path.read_bytes(), type=Entry)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return entry if entry.schema <= SCHEMA else None
