"""The small process between the runner and its agents, which leaves no descendant behind.

It is forked before asyncio or any thread starts, runs in its own session, starts agents (1 ms each, where a new
interpreter costs 30 ms) and ends the processes that they leave. When its socket to the runner closes, however the
runner died, it ends everything and exits. Both are child subreapers: if this process is killed, the runner inherits
its children and ends them.
"""

import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from spool.decoders import decoder_of
from spool.host.agents.control_group import ControlGroup, make_group
from spool.host.agents.sweep import (
    become_subreaper,
    end_descendants,
    inside_sandbox,
    signal_descendants,
    signal_me_when_parent_dies,
)
from spool.nofollow import open_file

ASK_S = 1.5
"""Seconds between SIGINT, which asks the agent to stop, and SIGTERM."""
TERM_S = 1.5
"""Seconds between SIGTERM and SIGKILL. gemini ignored SIGTERM for 12 s."""
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGQUIT)
_RESET = (*_IGNORED, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)
"""Signals that this process or Python ignores, which an agent would inherit."""


class Spawn(msgspec.Struct, tag="spawn"):
    """Start an agent."""

    # Bytes, because paths and arguments need not be UTF-8.
    argv: tuple[bytes, ...]
    env: tuple[tuple[bytes, bytes], ...]
    """Variables added to the supervisor's environment; sandboxed, all that there are."""
    directory: bytes
    stdin: bytes
    stdout: bytes
    stderr: bytes
    memory_limit: int = 0
    isolated: bool = False
    """Whether to start it in a pid namespace."""
    sandboxed: bool = False
    """Whether the command is a sandbox around the agent."""


class AgentOrder(msgspec.Struct, tag="order"):
    """Act on the running agent."""

    what: Literal["stop", "kill", "pause", "resume"]


class Started(msgspec.Struct, tag="started"):
    """The agent is running."""

    pid: int


class AgentNotStarted(msgspec.Struct, tag="not_started"):
    """The agent could not be started."""

    errno: int
    message: str


class AgentEnded(msgspec.Struct, tag="ended"):
    """The agent and its descendants have ended; `left` lists those that cannot be killed."""

    exit_code: int
    left: tuple[int, ...] = ()


Request = Spawn | AgentOrder
Report = Started | AgentNotStarted | AgentEnded


class Supervision(NamedTuple):
    """The runner's side of a supervisor."""

    pid: int
    line: socket.socket
    group: ControlGroup | None
    """The control group of the agents."""


def fork_supervisor() -> Supervision:
    """Fork the supervisor. Call it before any thread starts."""
    _expect_children()
    group = make_group()
    # Stays open in runner and supervisor until they are gone, and so holds the guard back.
    kept = [group.guard()] if group else []
    become_subreaper()
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid:
        theirs.close()
        return Supervision(pid, ours, group)
    status = 1
    try:
        ours.close()
        _detach(theirs.fileno(), *kept)
        _Supervisor(theirs, group).serve()
        status = 0
    finally:
        os._exit(status)


def _expect_children() -> None:
    """Undo what a launcher may have left: with SIGCHLD blocked or ignored, no end of a child would be noticed."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _detach(*kept: int) -> None:
    """Leave the terminal and close every other inherited descriptor, locks and pipes above all."""
    os.setsid()
    for signum in _IGNORED:
        signal.signal(signum, signal.SIG_IGN)
    signal_me_when_parent_dies(signal.SIGCONT)  # wakes a stopped supervisor, which finds its socket closed
    devnull = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(devnull, descriptor)
    bounds = [2, *sorted(kept), min(os.sysconf("SC_OPEN_MAX"), 1 << 16)]
    for below, above in pairwise(bounds):
        os.closerange(below + 1, above)
    become_subreaper()


class _Supervisor:
    def __init__(self, line: socket.socket, group: ControlGroup | None) -> None:
        self._line = line
        self._group = group
        self._inbox = b""
        self._decode = decoder_of(Request)
        self._agent: int | None = None
        self._sandboxed = False
        self._signals: list[tuple[float, int]] = []
        self._wakeups, wakeup = socket.socketpair()
        wakeup.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)
        self._wakeup = wakeup

    def serve(self) -> None:
        """Handle requests until the runner's socket closes; end all descendants, also after an error."""
        try:
            while True:
                ready, _, _ = select.select([self._line, self._wakeups], [], [], self._next_signal_in())
                if self._wakeups in ready:
                    self._wakeups.recv(4_096)
                if self._line in ready and not self._handle_requests():
                    return
                self._send_due_signals()
                self._reap_children()
        finally:
            end_descendants(os.getpid(), self._group)
            if self._group is not None:
                self._group.remove()

    def _handle_requests(self) -> bool:
        try:
            data = self._line.recv(1 << 16)
        except ConnectionResetError:  # the runner died with an unread report
            return False
        *requests, self._inbox = (self._inbox + data).split(b"\n")
        for request in requests:
            match self._decode.decode(request):
                case Spawn() as spawn:
                    self._spawn(spawn)
                case AgentOrder(what):
                    self._order(what)
        return bool(data)

    def _spawn(self, spawn: Spawn) -> None:
        try:
            if self._group is not None:
                self._group.limit_memory(spawn.memory_limit)
            self._agent, self._sandboxed = _start(spawn, self._group), spawn.sandboxed
        except OSError as error:
            self._report(AgentNotStarted(errno=error.errno or 0, message=error.strerror or str(error)))
            return
        self._signals.clear()
        self._report(Started(pid=self._agent))

    def _order(self, what: str) -> None:
        if self._agent is None:
            return
        now = time.monotonic()
        match what:
            case "stop" if not self._signals:
                self._signals = [
                    (now, signal.SIGINT),
                    (now + ASK_S, signal.SIGTERM),
                    (now + ASK_S + TERM_S, signal.SIGKILL),
                ]
            case "kill":
                self._signals = [(now, signal.SIGKILL)]
            case "pause":
                signal_descendants(os.getpid(), signal.SIGSTOP)
            case "resume":
                signal_descendants(os.getpid(), signal.SIGCONT)

    def _next_signal_in(self) -> float | None:
        return max(0.0, self._signals[0][0] - time.monotonic()) if self._signals else None

    def _send_due_signals(self) -> None:
        while self._agent is not None and self._signals and self._signals[0][0] <= time.monotonic():
            signum = self._signals.pop(0)[1]
            if signum == signal.SIGINT:
                agent = inside_sandbox(self._agent) if self._sandboxed else self._agent
                with suppress(ProcessLookupError):
                    os.kill(agent, signum)  # only the agent, which ends its own tools best
                    os.kill(agent, signal.SIGCONT)
            else:
                if signum == signal.SIGKILL and self._group is not None:
                    self._group.kill()
                signal_descendants(os.getpid(), signum, signal.SIGCONT)

    def _reap_children(self) -> None:
        """Reap ended children; after the agent, end its descendants and report."""
        while self._agent is not None:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self._agent:
                self._agent = None
                left = end_descendants(os.getpid(), self._group)
                self._report(AgentEnded(exit_code=os.waitstatus_to_exitcode(status), left=left))

    def _report(self, report: Report) -> None:
        with suppress(OSError):
            self._line.sendall(msgspec.json.encode(report) + b"\n")


def _start(spawn: Spawn, group: ControlGroup | None) -> int:
    """Start an agent in its own session; raise OSError if its program cannot run.

    Not with subprocess: the child must ask to die with this process before it runs the program.
    """
    errors, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if group is not None:
                with suppress(OSError):  # then signals alone end it
                    group.enter()
            if spawn.isolated:
                from spool.host.agents.pid_namespace import enter

                enter(report)
            _become(spawn)
        except OSError as error:
            what = os.fsdecode(error.filename or spawn.argv[0])
            os.write(report, f"{error.errno or 0} {error.strerror}: {what}".encode("utf-8", "replace"))
        finally:
            os._exit(127)
    os.close(report)
    with os.fdopen(errors, "rb") as pipe:
        failure = pipe.read().decode("utf-8", "replace")
    if failure:
        os.waitpid(pid, 0)
        errno, _, message = failure.partition(" ")
        raise OSError(int(errno), message)
    return pid


def _become(spawn: Spawn) -> None:
    """Replace this forked child with the agent."""
    os.setsid()
    if sys.platform == "linux":
        signal_me_when_parent_dies(signal.SIGKILL)
    for signum in _RESET:
        signal.signal(signum, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    os.chdir(spawn.directory)
    stdin, stdout, stderr = (Path(os.fsdecode(path)) for path in (spawn.stdin, spawn.stdout, spawn.stderr))
    if spawn.sandboxed:
        from spool.host.agents.sandboxed_child import leave_session_keys, open_to_read

        leave_session_keys()
        given = open_to_read(stdin)
    else:
        given = open_file(stdin, os.O_RDONLY)
    written = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    for target, descriptor in enumerate((given, open_file(stdout, written), open_file(stderr, written))):
        os.dup2(descriptor, target)
        os.set_blocking(target, True)
        os.close(descriptor)
    inherited = {} if spawn.sandboxed else os.environb
    os.execvpe(spawn.argv[0], spawn.argv, {**inherited, **dict(spawn.env)})  # noqa: S606 - no shell is the point
