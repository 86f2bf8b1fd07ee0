"""Starts a loop elsewhere, in the background or in a terminal. One way to wait, one channel for failure.

The runner gets its spec by a ticket, a file for this user's eyes only, so that nothing of it passes through an argv. It
enters itself into the registry once it runs; a runner that cannot start enters why. Whoever started it waits for that.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from spool.domain.loop import LoopSummary
from spool.domain.spec import LoopSpec
from spool.domain.text import one_line
from spool.domain.verdict import Status
from spool.errors import SpoolError, StateError
from spool.host.runner.identity import this_runner
from spool.host.state.files import make_folder, replace_file
from spool.host.state.registry import this_machine
from spool.host.state.store import StateFolder
from spool.host.terminals import BACKGROUND, NONE, TMUX, Terminal, Window, choose, launch

START_S = 30.0
"""A runner is there within a second; a slow git, or a desktop that was just logged into, may take its time."""
_POLL_S = 0.02
# The runner in a new process is a front door of its own: it shows the loop. It is named here, never imported.
_RUNNER = (sys.executable, "-P", "-m", "spool.cli.child")
_TERMINALS_OWN = (
    "TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "WINDOWID", "COLUMNS", "LINES",
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "KITTY_WINDOW_ID", "KITTY_PID", "ALACRITTY_WINDOW_ID", "WEZTERM_PANE",
)  # fmt: skip
"""What a terminal says to the programs in it; everything else comes from where the loop was started."""


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """What a runner in another process gets."""

    spec: LoopSpec
    environment: tuple[tuple[bytes, bytes], ...]
    """A tmux server or a desktop's terminal has an environment of its own, which may be days old."""


class Launched:
    """A runner that was started elsewhere."""

    def __init__(self, spec: LoopSpec, process: subprocess.Popen[bytes], log: Path, *, is_runner: bool) -> None:
        self.spec = spec
        self.pid = process.pid
        self._process = process
        self._log = log
        self._is_runner = is_runner
        """Whether the process is the runner itself, and not a terminal around it."""

    @property
    def failed(self) -> bool:
        """Whether nothing can come of it any more. A terminal may leave at once, with code 0, before its window."""
        code = self._process.poll()
        return code is not None and (code != 0 or self._is_runner)

    def summary(self) -> LoopSummary | None:
        """Return the run once it has entered itself."""
        return this_machine().find(self.spec.run_id)

    def wait(self) -> LoopSummary:
        """Wait until the loop runs, or has ended already, and return it; raise why it did not start."""
        deadline = time.monotonic() + START_S
        while True:
            gone, late = self.failed, time.monotonic() > deadline  # before the look: a runner enters its end and leaves
            loop = self.summary()
            if loop is not None and (late or not loop.running or _has_state(loop)):
                break
            if loop is None and (gone or late):
                raise SpoolError("the loop did not start", hint=self.said() or f"nothing happened in {START_S:g} s")
            time.sleep(_POLL_S)
        if loop.status in (Status.STOPPED, Status.STUCK) and not loop.iteration:
            raise SpoolError(f"the loop did not start: {loop.reason}")
        return loop

    def said(self) -> str:
        """Return what the runner or its terminal complained about."""
        with suppress(OSError):
            return one_line(self._log.read_text("utf-8", "replace")[-2_000:], 400)
        return ""


def in_background(spec: LoopSpec) -> Launched:
    """Start a loop in a session of its own, with its output in a log."""
    log = this_machine().beside(spec.run_id, "log")
    return _launch(msgspec.structs.replace(spec, terminal=NONE, log=spec.log or str(log)), BACKGROUND, log)


def in_terminal(spec: LoopSpec, complain: Callable[[str], None]) -> LoopSummary:
    """Start a loop in the first terminal that can be opened, and wait until it runs."""
    terminals = choose(spec.settings.terminal, os.environ, this_machine().folder)
    log = this_machine().beside(spec.run_id, "log")
    for number, terminal in enumerate(terminals, 1):
        if spec.settings.fullscreen and not terminal.fullscreen:
            complain(f"{terminal.name} cannot fill the screen")
        session = _session(spec)
        named = f"{TMUX}:{session}" if terminal.name == TMUX else terminal.name
        launched = _launch(msgspec.structs.replace(spec, terminal=named), terminal, log)
        try:
            return launched.wait()
        except SpoolError as error:
            if launched.summary() is not None or number == len(terminals):
                raise
            complain(f"{terminal.name} could not be opened: {error.hint or error}")
        finally:
            _ticket_path(spec).unlink(missing_ok=True)
    raise SpoolError("there is no terminal to open")


def take_ticket(path: Path) -> LoopSpec:
    """Read a ticket and remove it, and become what the process was that asked for the loop."""
    try:
        ticket = msgspec.json.decode(path.read_bytes(), type=Ticket)
    except (OSError, msgspec.MsgspecError) as error:
        raise StateError(f"{path} cannot be read: {error}") from None
    path.unlink(missing_ok=True)
    own = {name: os.environ[name] for name in _TERMINALS_OWN if name in os.environ}
    os.environ.clear()
    os.environb.update({name: value for name, value in ticket.environment if os.fsdecode(name) not in _TERMINALS_OWN})
    os.environ.update(own)
    os.chdir(ticket.spec.root)
    return ticket.spec


def report_failure(spec: LoopSpec, reason: str) -> None:
    """Enter why a loop never ran, for whoever waits for it."""
    if this_machine().find(spec.run_id) is not None:
        return
    now = datetime.now(UTC)
    this_machine().enter(
        LoopSummary(
            run_id=spec.run_id,
            door=spec.door,
            change=spec.change,
            project=spec.root,
            worktree=spec.root,
            root=spec.root,
            folder=spec.folder,
            terminal=spec.terminal,
            log=spec.log or None,
            status=Status.STOPPED,
            reason=reason,
            runner=this_runner(),
            started_at=now,
            updated_at=now,
            ended_at=now,
        )
    )


def _launch(spec: LoopSpec, terminal: Terminal, log: Path) -> Launched:
    path = _ticket_path(spec)
    make_folder(path.parent)
    replace_file(path, msgspec.json.encode(Ticket(spec=spec, environment=tuple(os.environb.items()))))
    window = Window(
        command=(*_RUNNER, str(path)),
        title=spec.change,
        directory=spec.root,
        session=_session(spec),
        fullscreen=spec.settings.fullscreen,
    )
    return Launched(spec, launch(terminal, window, os.environ, log), log, is_runner=terminal.name == NONE)


def _ticket_path(spec: LoopSpec) -> Path:
    return this_machine().beside(spec.run_id, "ticket")


def _session(spec: LoopSpec) -> str:
    return f"wt-{spec.change}-{spec.run_id.rpartition('-')[2]}".replace(".", "_")


def _has_state(loop: LoopSummary) -> bool:
    with suppress(SpoolError, OSError):
        state = StateFolder(Path(loop.folder)).load()
        return state is not None and state.run_id == loop.run_id
    return False
