"""Starts the real command line in a process of its own, forked from a warm interpreter where that changes nothing.

A start of Python and the imports of a command take 100 to 200 ms of processor time; a fork takes 5. The process is a
child of the tests with its own streams, session, directory, environment and command line, and ends as `spool` ends.
"""

from __future__ import annotations

import atexit
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

_CLONE = {"x86_64": 56, "aarch64": 220}
"""The number of the system call, by machine."""
WT_LOOP = "from spool.__main__ import wt_loop; wt_loop()"
_BASE = {"LANG": "C.UTF-8", "PATH": os.environ.get("PATH", os.defpath)}
_ARGV_ROOM, _ENV_ROOM = 1 << 12, 1 << 13
_INTERPRETERS_OWN = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_", "COVERAGE")
"""Variables that Python or the C library reads when it starts."""
_AS_FORKED = {"preexec_fn": None, "close_fds": True, "pass_fds": (), "shell": False, "executable": None, "gid": None,
              "gids": None, "uid": None, "umask": -1, "process_group": -1}  # fmt: skip
"""The ways to start a process that a fork can have; any other starts an interpreter."""


class Popen(subprocess.Popen[Any]):
    """A process of the command line, started cold or forked warm."""

    def _execute_child(self, *given: Any) -> None:
        cold = super()._execute_child  # type: ignore[misc]
        how = inspect.signature(cold).bind(*given).arguments
        if not _is_spool(how["args"]) or not _same_as_fork(how):
            cold(*given)
            return
        ours = [how[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        self.pid = _server().start(
            argv=[os.fspath(word) for word in how["args"]],
            env=dict(os.environ if how["env"] is None else how["env"]),
            cwd=os.fspath(how["cwd"] or os.getcwd()),
            session=bool(how["start_new_session"]),
            streams=[stream if stream != -1 else number for number, stream in enumerate(ours)],
        )
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(how[name] for name in pipes))  # type: ignore[attr-defined]


def run(argv: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
    """Run a command line to its end, as `subprocess.run` does."""
    timeout = how.pop("timeout", None)
    given = how.pop("input", None)
    if given is not None:
        how["stdin"] = subprocess.PIPE
    if how.pop("capture_output", False):
        how.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    how.pop("check", None)
    with Popen(argv, **how) as process:
        try:
            out, err = process.communicate(given, timeout)
        except BaseException:
            process.kill()
            process.wait()
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def _is_spool(argv: object) -> bool:
    return (
        isinstance(argv, list)
        and argv[0] == sys.executable
        and (argv[1:3] == ["-m", "spool"] or argv[1:3] == ["-c", WT_LOOP])
        and "fleet" not in argv[3:4]
        and "\0" not in "".join(map(str, argv))
    )


def _same_as_fork(how: dict[str, Any]) -> bool:
    environment = os.environ if how["env"] is None else how["env"]
    own = {name: value for name, value in environment.items() if name.startswith(_INTERPRETERS_OWN)}
    return (
        own == {"LANG": _BASE["LANG"]}
        and all(how.get(name, value) == value for name, value in _AS_FORKED.items())
        and (how["cwd"] is None or os.access(how["cwd"], os.X_OK))
        and sum(len(os.fsencode(word)) + 1 for word in how["args"]) < _ARGV_ROOM
        and sum(len(os.fsencode(name)) + len(os.fsencode(value)) + 2 for name, value in environment.items()) < _ENV_ROOM
        and sys.platform == "linux"
        and os.uname().machine in _CLONE
    )


class _Server:
    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
        self._one_at_a_time = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", str(Path(__file__).with_name("warm_server.py"))),
                    *(str(theirs.fileno()), str(_CLONE[os.uname().machine]), "x" * _ARGV_ROOM),
                ],
                env={**_BASE, "ROOM": "x" * _ENV_ROOM},
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
            )
        atexit.register(self._end)

    def start(self, *, streams: list[int], **request: object) -> int:
        """Start a process with these standard streams; return its pid."""
        with self._one_at_a_time:
            socket.send_fds(self._requests, [json.dumps(request).encode()], streams)
            return int(self._requests.recv(32))

    def _end(self) -> None:
        self._requests.close()
        self._process.wait()


@cache
def _server() -> _Server:
    return _Server()
