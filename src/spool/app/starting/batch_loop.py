"""One loop of a batch: its runner, and how it ended."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spool.app.loops.control import ask_to_stop
from spool.app.loops.following import exit_code_of
from spool.app.loops.loop_list import is_running, loop_at
from spool.app.starting.launch import Launched
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind, LoopSummary
from spool.engine.stop_request import Stop
from spool.errors import SpoolError
from spool.host.state.files import opened
from spool.host.state.places import path_key, user_state
from spool.nofollow import make_folder


@contextmanager
def starting(spec: LoopSpec) -> Iterator[None]:
    """Let one command at a time make the workspace of a change, and start a loop in it."""
    folder = user_state() / "starting"
    make_folder(folder)
    with opened(folder / f"{path_key(spec.folder)}.lock", os.O_RDWR | os.O_CREAT) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@dataclass
class BatchLoop:
    """A loop that runs: started here, or found running."""

    spec: LoopSpec
    launched: Launched | None = None
    found: LoopSummary | None = None
    began: datetime | None = None
    """The time of its start."""
    asked: int = 0
    """The number of stop requests."""

    @property
    def run_id(self) -> str:
        """The id of its run."""
        return self.found.run_id if self.found else self.spec.run_id

    @property
    def branch(self) -> str:
        """The branch on which its work ends."""
        workspace = self.found.workspace if self.found else self.spec.workspace
        return workspace.branch if workspace else ""

    def exit_code(self) -> int | None:
        """Return the exit code; None while it runs."""
        if self.launched is not None:
            return self.launched.exit_code
        assert self.found is not None  # noqa: S101 - it is one or the other
        return None if is_running(self.found) else exit_code_of(self.found)

    def obey(self, stop: Stop) -> None:
        """Ask its runner to stop, once for each request: a second one forces it."""
        wanted = stop.requested + stop.forced
        if self.asked < wanted:
            self.asked = wanted
            if self.launched is not None:
                self.launched.ask_to_stop(stop.by)
            elif self.found is not None:
                ask_to_stop(self.found, stop.by)

    def settle(self, alone: AbstractContextManager[object]) -> None:
        """Keep other commands from starting the same loop until they can see that it runs."""
        with alone, suppress(SpoolError):
            if self.launched is not None:
                self.launched.wait()

    def summary(self) -> LoopSummary | None:
        """Return the run as its state has it; None if it never got as far."""
        with suppress(SpoolError, OSError):
            found = self._latest()
            return found if found and found.run_id == self.run_id else None
        return None

    def of_another_command(self) -> LoopSummary | None:
        """Return the run that another command started meanwhile, so that this one could not start."""
        with suppress(SpoolError, OSError):
            found = self._latest()
            if found is not None and self.began is not None and found.run_id != self.run_id:
                return found if found.running or (found.ended_at and found.ended_at >= self.began) else None
        return None

    def why_not(self) -> str:
        """Return why its runner ended before the loop began."""
        found = self.launched.summary() if self.launched else None
        said = found.reason if found else self.launched.why_not or self.launched.said() if self.launched else ""
        return said or "its runner died"

    def _latest(self) -> LoopSummary | None:
        return loop_at(Path(self.spec.root), LoopKind.RUN, self.spec.change)
