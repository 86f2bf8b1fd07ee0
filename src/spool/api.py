"""The Python interface: describe a loop, start it, iterate over its events, stop it.

    from spool import api

    with api.start(api.loop_spec("PLAN.md", harness="claude", allow_all=True)) as loop:
        for event in loop.events():
            print(event)

A loop is a process of its own, as with `spool run --detach`: `spool ps`, `attach`, `logs` and `stop` find it.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from spool.app.changes.plan_files import prepare_plan
from spool.app.changes.resolver import require_change
from spool.app.loops.control import stop_all
from spool.app.loops.following import events_of, exit_code_of
from spool.app.loops.loop_list import is_running
from spool.app.machine.trusted_settings import require_trust
from spool.app.starting.construction import new_spec
from spool.app.starting.effective_settings import resolve_settings
from spool.app.starting.launch import Launched, in_background
from spool.app.starting.workspace_start import place
from spool.domain.agent import stream
from spool.domain.change.plan_file.ids import plan_path
from spool.domain.change.workspaces import Kind
from spool.domain.loop import events
from spool.domain.loop.events import Event
from spool.domain.loop.settings import Layer, Settings
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind, LoopSummary
from spool.domain.loop.verdict import ExitCode, Status
from spool.errors import SpoolError

__all__ = [
    "Event",
    "ExitCode",
    "Loop",
    "LoopKind",
    "LoopSpec",
    "LoopSummary",
    "Settings",
    "SpoolError",
    "Status",
    "events",
    "loop_spec",
    "start",
    "stream",
]  # fmt: skip


def loop_spec(
    change: str, *, prompt: str = "", directory: str | Path = ".", fresh: bool = False, **settings: Any
) -> LoopSpec:
    """Return the loop of a change or a plan file, with the settings in force, and those given here above them.

    With a prompt it is a loop of `spool ralph`, else one of `spool run`. Raises a SpoolError for an unknown change, an
    invalid setting, or settings of the repository that nobody has trusted.
    """
    meant = require_change(change, Path(directory).resolve())
    project, change_id = meant.project, meant.id
    prepare_plan(project, change_id, tick=False)
    given = [Layer(name, {name: value}) for name, value in settings.items()]
    return new_spec(
        LoopKind.RALPH if prompt else LoopKind.RUN,
        project.root,
        change_id,
        require_trust(project.root, resolve_settings(project.root, given)).settings,
        task=prompt,
        fresh=fresh,
        again=_again(plan_path(change_id) or change_id, prompt, settings),
    )


def start(spec: LoopSpec, *, workspace: Literal["here", "worktree", "clone"] | None = None) -> "Loop":
    """Start a loop in a process of its own, and return once it runs; raise a SpoolError if it does not.

    Without a workspace it works in the tree of the change or, for a sandbox, in a clone.
    """
    launched = in_background(place(spec, Kind(workspace) if workspace else None))
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
        """The loop's current state."""
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


def _again(change: str, prompt: str, settings: dict[str, Any]) -> str:
    """Return the command that continues a loop, with the given settings as variables, where they can be such."""
    given = [
        f"SPOOL_{name.upper()}={value}" for name, value in settings.items() if isinstance(value, str | int | float)
    ]
    return shlex.join([*given, "spool", *(["ralph", prompt, "--change", change] if prompt else ["run", change])])
