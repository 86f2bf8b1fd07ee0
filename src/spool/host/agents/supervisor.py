"""The small process between the runner and its agents, which leaves no descendant behind.

It is forked before asyncio or any thread starts, lives in a session of its own, starts agents (about a millisecond
each, where a fresh interpreter costs thirty) and ends whatever they leave. When its pipe from the runner closes,
however the runner died, it ends everything and leaves. Both are child subreapers: if this process is killed, the
runner adopts its children and ends them itself.
"""

import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Literal

import msgspec

from spool.host.agents.sweep import (
    become_subreaper,
    end_descendants,
    signal_descendants,
    signal_me_when_parent_dies,
)
from spool.host.state.files import FILE_MODE

ASK_S = 1.5
"""After SIGINT, the way agents are asked to stop, and before SIGTERM."""
TERM_S = 1.5
"""After SIGTERM and before SIGKILL. gemini ignored SIGTERM for 12 s."""
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGQUIT)
_RESET = (*_IGNORED, signal.SIGPIPE, signal.SIGXFSZ)
"""What this process or Python itself ignores; an agent would inherit that."""


class Spawn(msgspec.Struct, tag="spawn"):
    """Start an agent."""

    # Bytes, because a path or an argument need not be UTF-8.
    argv: tuple[bytes, ...]
    env: tuple[tuple[bytes, bytes], ...]
    """What is added to the environment that the supervisor inherited."""
    directory: bytes
    stdin: bytes
    stdout: bytes
    stderr: bytes


class Order(msgspec.Struct, tag="order"):
    """Do something to the running agent."""

    what: Literal["stop", "kill", "pause", "resume"]


class Started(msgspec.Struct, tag="started"):
    """The agent runs."""

    pid: int


class NotStarted(msgspec.Struct, tag="not_started"):
    """The agent could not be started."""

    errno: int
    message: str


class Ended(msgspec.Struct, tag="ended"):
    """The agent, and all that it started, is gone; `left` names what cannot be ended."""

    exit_code: int
    strays: int
    left: tuple[int, ...] = ()


Request = Spawn | Order
Report = Started | NotStarted | Ended


def fork_supervisor() -> tuple[int, socket.socket]:
    """Fork the supervisor; return its pid and the runner's end of the line. Call it before any thread exists."""
    become_subreaper()
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, ours
    status = 1
    try:
        ours.close()
        _detach(theirs)
        _Supervisor(theirs).serve()
        status = 0
    finally:
        os._exit(status)


def _detach(line: socket.socket) -> None:
    """Leave the terminal and let go of everything inherited, locks and pipes above all."""
    os.setsid()
    for signum in _IGNORED:
        signal.signal(signum, signal.SIG_IGN)
    signal_me_when_parent_dies(signal.SIGCONT)  # a stopped supervisor wakes up, finds the pipe closed, and sweeps
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    keep = line.fileno()
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") < 1 << 16 else 1 << 16)
    become_subreaper()


class _Supervisor:
    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._inbox = b""
        self._decode = msgspec.json.Decoder(Request)
        self._agent: int | None = None
        self._ladder: list[tuple[float, int]] = []
        self._chimes, chime = socket.socketpair()
        chime.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(chime.fileno(), warn_on_full_buffer=False)
        self._chime = chime

    def serve(self) -> None:
        """Obey the runner until its end of the line closes; whatever ends this, nobody is left behind."""
        try:
            while True:
                ready, _, _ = select.select([self._line, self._chimes], [], [], self._next_rung_in())
                if self._chimes in ready:
                    self._chimes.recv(4_096)
                if self._line in ready and not self._obey():
                    return
                self._climb()
                self._collect()
        finally:
            end_descendants(os.getpid())

    def _obey(self) -> bool:
        try:
            data = self._line.recv(1 << 16)
        except ConnectionResetError:  # a runner that died with a report of ours unread
            return False
        *requests, self._inbox = (self._inbox + data).split(b"\n")
        for request in requests:
            match self._decode.decode(request):
                case Spawn() as spawn:
                    self._spawn(spawn)
                case Order(what):
                    self._order(what)
        return bool(data)

    def _spawn(self, spawn: Spawn) -> None:
        try:
            self._agent = _start(spawn)
        except OSError as error:
            self._report(NotStarted(errno=error.errno or 0, message=error.strerror or str(error)))
            return
        self._ladder.clear()
        self._report(Started(pid=self._agent))

    def _order(self, what: str) -> None:
        if self._agent is None:
            return
        now = time.monotonic()
        match what:
            case "stop" if not self._ladder:
                self._ladder = [
                    (now, signal.SIGINT),
                    (now + ASK_S, signal.SIGTERM),
                    (now + ASK_S + TERM_S, signal.SIGKILL),
                ]
            case "kill":
                self._ladder = [(now, signal.SIGKILL)]
            case "pause":
                signal_descendants(os.getpid(), signal.SIGSTOP)
            case "resume":
                signal_descendants(os.getpid(), signal.SIGCONT)

    def _next_rung_in(self) -> float | None:
        return max(0.0, self._ladder[0][0] - time.monotonic()) if self._ladder else None

    def _climb(self) -> None:
        while self._agent is not None and self._ladder and self._ladder[0][0] <= time.monotonic():
            signum = self._ladder.pop(0)[1]
            if signum == signal.SIGINT:
                with suppress(ProcessLookupError):
                    os.kill(self._agent, signum)  # asked: only the agent, which knows its own tools best
                    os.kill(self._agent, signal.SIGCONT)
            else:
                signal_descendants(os.getpid(), signum, signal.SIGCONT)

    def _collect(self) -> None:
        """Reap who is gone; when it is the agent, end what it left and report."""
        while self._agent is not None:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self._agent:
                self._agent = None
                strays, left = end_descendants(os.getpid())
                self._report(Ended(exit_code=os.waitstatus_to_exitcode(status), strays=strays, left=left))

    def _report(self, report: Report) -> None:
        with suppress(OSError):
            self._line.sendall(msgspec.json.encode(report) + b"\n")


def _start(spawn: Spawn) -> int:
    """Start an agent in a session of its own; raise OSError if its program cannot run.

    By hand and not with subprocess: only here the child can ask to die with this process before it runs the program.
    """
    errors, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _become(spawn)
        except OSError as error:
            what = os.fsdecode(error.filename or spawn.argv[0])
            os.write(tell, f"{error.errno or 0} {error.strerror}: {what}".encode("utf-8", "replace"))
        finally:
            os._exit(127)
    os.close(tell)
    with os.fdopen(errors, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    if said:
        os.waitpid(pid, 0)
        errno, _, message = said.partition(" ")
        raise OSError(int(errno), message)
    return pid


def _become(spawn: Spawn) -> None:
    """Turn this forked child into the agent."""
    os.setsid()
    if sys.platform == "linux":
        signal_me_when_parent_dies(signal.SIGKILL)
    for signum in _RESET:
        signal.signal(signum, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    os.chdir(spawn.directory)
    for target, path, flags in (
        (0, spawn.stdin, os.O_RDONLY),
        (1, spawn.stdout, os.O_WRONLY | os.O_APPEND | os.O_CREAT),
        (2, spawn.stderr, os.O_WRONLY | os.O_APPEND | os.O_CREAT),
    ):
        descriptor = os.open(path, flags, FILE_MODE)
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.execvpe(spawn.argv[0], spawn.argv, {**os.environb, **dict(spawn.env)})  # noqa: S606 - no shell is the point
