"""The Python interface: describe a loop, start it, iterate over its events, stop it.

    from spool import api

    with api.start(api.loop_spec("PLAN.md", harness="claude", allow_all=True)) as loop:
        for event in loop.events():
            print(event)

A loop is a process of its own, as with `spool run --detach`: `spool ps`, `attach`, `logs` and `stop` find it.
"""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from spool.app.control import stop_all
from spool.app.launch import Launched, in_background
from spool.app.loops import is_running
from spool.app.plan_files import plan_meant, prepare_plan
from spool.app.runner import new_run_id
from spool.app.settings import resolve_settings
from spool.app.trust import require_trust
from spool.app.watching import events_of, exit_code_of
from spool.app.workspace_start import place
from spool.domain import events, stream
from spool.domain.events import Event
from spool.domain.loop import Door, LoopSummary
from spool.domain.settings import Settings
from spool.domain.spec import LoopSpec
from spool.domain.verdict import ExitCode, Status
from spool.domain.workspace import Kind
from spool.errors import SpoolError
from spool.sources.project import Project, find_project

__all__ = [
    "Door", "Event", "ExitCode", "Loop", "LoopSpec", "LoopSummary", "Settings", "SpoolError", "Status", "events",
    "loop_spec", "start", "stream",
]  # fmt: skip


def loop_spec(
    change: str, *, prompt: str = "", directory: str | Path = ".", fresh: bool = False, **settings: Any
) -> LoopSpec:
    """Return the loop of a change or a plan file, with the settings in force, and those given here above them.

    With a prompt it is a loop of `spool ralph`, else one of `spool run`. Raises a SpoolError for an unknown change, an
    invalid setting, or settings of the repository that nobody has trusted.
    """
    here = Path(directory).resolve()
    project, change_id = plan_meant(change, here) or _change(change, here)
    prepare_plan(project, change_id, tick=False)
    return LoopSpec(
        run_id=new_run_id(),
        door=Door.RALPH if prompt else Door.RUN,
        change=change_id,
        root=str(project.root),
        settings=require_trust(project.root, resolve_settings(project.root, settings)).settings,
        task=prompt,
        fresh=fresh,
    )


def start(spec: LoopSpec, *, workspace: Literal["here", "worktree", "clone"] | None = None) -> "Loop":
    """Start a loop in a process of its own, and return once it runs; raise a SpoolError if it does not.

    Without a workspace it works in the tree of the change or, for a sandbox, in a clone.
    """
    placed = place(spec, Kind(workspace) if workspace else None).spec
    launched = in_background(placed)
    return Loop(launched, launched.wait())


class Loop:
    """A loop that was started. As a context manager it stops the loop at the end, if it is still running."""

    def __init__(self, launched: Launched, started: LoopSummary) -> None:
        self._launched = launched
        self._started = started

    @property
    def id(self) -> str:
        """The id with which commands name this loop."""
        return self._started.id

    @property
    def summary(self) -> LoopSummary:
        """Where the loop stands now."""
        return self._launched.summary() or self._started

    @property
    def running(self) -> bool:
        """Whether the loop is still running."""
        return is_running(self._started)

    def events(self, *, follow: bool = True) -> Iterator[Event]:
        """Yield the events of this run from its beginning, and with `follow` those to come, until it ends."""
        yield from events_of(self._started, lambda: None, follow=follow)

    def stop(self) -> bool:
        """Stop the loop and wait; return whether its process is gone. Its work stays, and the next run continues."""
        (gone,) = stop_all([self.summary], by="the Python interface")
        return gone

    def wait(self) -> ExitCode:
        """Wait for the end of the loop and return its exit code."""
        for _ in self.events():
            pass
        return ExitCode(exit_code_of(self._started))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.running:
            self.stop()


def _change(query: str, here: Path) -> tuple[Project, str]:
    project = find_project(here)
    return project, project.resolve(query)
