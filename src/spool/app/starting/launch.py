"""Starts a loop in another process, in the background or in a terminal, and waits until it runs.

The runner reads its spec from a ticket, a file that only this user can read, so that argv reveals nothing. It registers
itself once it runs; a runner that cannot start writes down why. The process that started it waits for either.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopSummary
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import one_line
from spool.errors import SpoolError, StateError
from spool.host.state.files import end_of, opened, replace_file
from spool.host.state.loop_store import StateFolder
from spool.host.state.records import exactly, restored
from spool.host.state.run_registry import note_stop, this_machine
from spool.host.terminals import BACKGROUND, NONE, TMUX, Terminal, TerminalWindow, choose, launch
from spool.nofollow import make_folder, read_file

START_S = 120.0
"""A runner usually starts within 1 s; a slow git, a desktop just after login or a busy machine takes longer."""
_POLL_S = 0.02
_AT_ONCE_S = 1.0
"""A command in the background that fails sooner was never started."""
_NOT_STARTED = "not-started"
"""The suffix of the file that says why a runner could not start."""
# The runner shows the loop, so it belongs to the command line: named here, never imported.
_RUNNER = (sys.executable, "-P", "-m", "spool.cli.child")
_TERMINALS_OWN = (
    "TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "WINDOWID", "COLUMNS", "LINES",
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "KITTY_WINDOW_ID", "KITTY_PID", "ALACRITTY_WINDOW_ID", "WEZTERM_PANE",
)  # fmt: skip
"""Variables that a terminal sets; all others come from the process that started the loop."""


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a runner in another process."""

    spec: LoopSpec
    environment: tuple[tuple[bytes, bytes], ...]
    """Passed along because the environment of a tmux server or a desktop's terminal may be days old."""


class Launched:
    """A runner started in another process."""

    def __init__(self, spec: LoopSpec, process: subprocess.Popen[bytes], log: Path, *, is_runner: bool) -> None:
        self.spec = spec
        self.pid = process.pid
        self._process = process
        self._log = log
        self._is_runner = is_runner
        """Whether the process is the runner itself, not a terminal around it."""

    @property
    def failed(self) -> bool:
        """Whether the start has failed. A terminal that exits with code 0 before its window opens has not."""
        code = self._process.poll()
        if code is None or (code == 0 and not self._is_runner):
            return False
        discard_ticket(self.spec)
        return True

    @property
    def exit_code(self) -> int | None:
        """The exit code of the runner, or of its terminal; None while it runs."""
        code = self._process.poll()
        if code is not None:
            discard_ticket(self.spec)
        return code

    def ask_to_stop(self, by: str) -> None:
        """Ask the runner to stop; a second request forces it."""
        note_stop(self.spec.run_id, by)
        self._process.send_signal(signal.SIGTERM)

    def summary(self) -> LoopSummary | None:
        """Return the run, or None until it has registered."""
        return this_machine().find(self.spec.run_id)

    @property
    def why_not(self) -> str:
        """Return why the runner could not start, as it printed it; else an empty text."""
        with suppress(OSError):
            return read_file(this_machine().beside(self.spec.run_id, _NOT_STARTED)).decode("utf-8", "replace")
        return ""

    def wait(self) -> LoopSummary:
        """Wait until the loop runs or has ended and return it; raise a SpoolError if it did not start."""
        try:
            loop = self._registered()
        finally:
            discard_ticket(self.spec)
        if loop.status in (Status.STOPPED, Status.STUCK) and not loop.run_iteration:
            raise SpoolError(f"the loop did not start: {loop.reason}")
        return loop

    def _registered(self) -> LoopSummary:
        deadline = time.monotonic() + START_S
        while True:
            gone, late = self.failed, time.monotonic() > deadline  # read first: a runner registers its end, then exits
            loop = self.summary()
            if why := self.why_not:
                raise SpoolError(f"the loop did not start: {why}")
            if loop is not None and (late or not loop.running or StateFolder(Path(loop.folder)).of_run(loop.run_id)):
                return loop
            if loop is None and (gone or late):
                raise SpoolError("the loop did not start", hint=self.said() or f"no sign of it after {START_S:g} s")
            time.sleep(_POLL_S)

    def said(self) -> str:
        """Return the error output of the runner or its terminal."""
        return one_line(end_of(self._log, 2_000).decode("utf-8", "replace"), 400)


def in_background(spec: LoopSpec) -> Launched:
    """Start a loop in a separate session, with its output in a log."""
    log = this_machine().beside(spec.run_id, "log")
    return _launch(msgspec.structs.replace(spec, terminal=NONE, log=spec.log or str(log)), BACKGROUND, log)


def command_in_background(words: Sequence[str], name: str) -> tuple[int, Path]:
    """Run a command of Spool in a separate session; return its pid and its log. Raise if it ends at once."""
    log = this_machine().beside(name, "log")
    make_folder(log.parent)
    with opened(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "spool", *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    with suppress(subprocess.TimeoutExpired):
        if process.wait(_AT_ONCE_S):
            raise SpoolError("it did not start", hint=one_line(end_of(log, 2_000).decode("utf-8", "replace"), 400))
    return process.pid, log


def in_terminal(spec: LoopSpec, complain: Callable[[str], None]) -> LoopSummary:
    """Start a loop in the first terminal that opens, and wait until it runs."""
    terminals = choose(spec.settings.terminal, os.environ, this_machine().folder)
    log = this_machine().beside(spec.run_id, "log")
    for number, terminal in enumerate(terminals, 1):
        if spec.settings.fullscreen and not terminal.fullscreen:
            complain(f"{terminal.name} cannot open full screen")
        session = _session(spec)
        named = f"{TMUX}:{session}" if terminal.name == TMUX else terminal.name
        launched = _launch(msgspec.structs.replace(spec, terminal=named), terminal, log)
        try:
            return launched.wait()
        except SpoolError as error:
            if launched.summary() is not None or launched.why_not or number == len(terminals):
                raise
            complain(f"cannot open {terminal.name}: {error.hint or error}")
    raise SpoolError("no terminal to open")


def take_ticket(path: Path) -> LoopSpec:
    """Read and remove a ticket, and adopt the environment of the process that wrote it."""
    try:
        ticket = restored(read_file(path), Ticket)
    except (OSError, ValueError) as error:
        raise StateError(f"cannot read {path}: {error}") from None
    path.unlink(missing_ok=True)
    own = {name: os.environ[name] for name in _TERMINALS_OWN if name in os.environ}
    os.environ.clear()
    os.environb.update({name: value for name, value in ticket.environment if os.fsdecode(name) not in _TERMINALS_OWN})
    os.environ.update(own)
    return ticket.spec


def report_failure(spec: LoopSpec, reason: str) -> None:
    """Write down why a loop never ran, for the process that waits for it; it is not a run of the change."""
    if this_machine().find(spec.run_id) is None:
        replace_file(this_machine().beside(spec.run_id, _NOT_STARTED), reason.encode("utf-8", "replace"))


def _launch(spec: LoopSpec, terminal: Terminal, log: Path) -> Launched:
    path = _ticket_path(spec)
    make_folder(path.parent)
    replace_file(path, exactly(Ticket(spec=spec, environment=tuple(os.environb.items()))))
    window = TerminalWindow(
        command=(*_RUNNER, str(path)),
        title=spec.change,
        directory=spec.root,
        session=_session(spec),
        fullscreen=spec.settings.fullscreen,
    )
    try:
        process = launch(terminal, window, os.environ, log)
    except SpoolError:
        discard_ticket(spec)
        raise
    return Launched(spec, process, log, is_runner=terminal.name == NONE)


def discard_ticket(spec: LoopSpec) -> None:
    """Remove a ticket that nobody will take any more: it holds an environment, and that may hold keys."""
    _ticket_path(spec).unlink(missing_ok=True)


def _ticket_path(spec: LoopSpec) -> Path:
    return this_machine().beside(spec.run_id, "ticket")


def _session(spec: LoopSpec) -> str:
    return f"wt-{spec.change}-{spec.run_id.rpartition('-')[2]}".replace(".", "_")
