"""A warm interpreter with the command line loaded, which forks a process for each request. See `warm.py`.

What a fork becomes is the program itself: it leaves the serving loop and runs `spool` from the top of this module. Only
the start, the imports and the teardown of the interpreter are spared.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

import spool
from spool import __main__ as entry
from spool.cli.edge import load_asyncio

CLONE_PARENT = 0x8000
_HEAVY = ("spool.tui", "spool.web", "spool.fleet", "spool.cli.commands.fleet", "spool.testing", "spool.reporters")
"""Loaded by few commands, and their libraries start threads."""
_LIMIT = 1 << 18


def load() -> None:
    """Load what the commands load."""
    entry._start_lean()
    load_asyncio()
    for module in pkgutil.walk_packages(spool.__path__, "spool."):
        if not module.name.startswith(_HEAVY):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def serve(requests: socket.socket, clone: int) -> list[str]:
    """Fork a process for each request; return its arguments in the fork, and end with the tests."""
    program, python = ctypes.PyDLL(None), ctypes.pythonapi
    while True:
        message, streams, _, _ = socket.recv_fds(requests, _LIMIT, 3)
        if not message:
            os._exit(0)
        # A child of the tests, not of this process: they wait for it, and find it, as one that they started.
        python.PyOS_BeforeFork()
        pid = program.syscall(clone, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            python.PyOS_AfterFork_Child()
            requests.close()
            return _become(json.loads(message), streams)
        python.PyOS_AfterFork_Parent()
        requests.send(str(pid).encode())
        for stream in streams:
            os.close(stream)


def _become(request: dict[str, object], streams: list[int]) -> list[str]:
    """Take over what a started program has of its own: streams, session, directory, environment, names in /proc."""
    argv, environment = request["argv"], request["env"]
    assert isinstance(argv, list)
    assert isinstance(environment, dict)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if request["session"]:
        os.setsid()
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    _name(argv, [f"{name}={value}" for name, value in environment.items()])
    for name, mode, stream in (("stdin", "rb", 0), ("stdout", "wb", 1), ("stderr", "wb", 2)):
        was, raw = getattr(sys, name), open(stream, mode, closefd=False)  # noqa: SIM115
        lines = name == "stderr" or raw.isatty()
        made = io.TextIOWrapper(raw, was.encoding, was.errors, line_buffering=lines)
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)
    sys.path.insert(0, os.getcwd())
    return argv


def _name(argv: list[str], environment: list[str]) -> None:
    """Write arguments and environment to where the kernel reads them for others; `warm.py` left the room for them."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    argv_start, argv_end, environment_start, environment_end = map(int, fields[45:49])
    _fill(argv_start, argv_end, argv)
    _fill(environment_start, environment_end, environment)


def _fill(start: int, end: int, words: list[str]) -> None:
    data = b"".join(os.fsencode(word) + b"\0" for word in words)
    assert len(data) < end - start
    ctypes.memmove(start, data.ljust(end - start, b"\0"), end - start)


def end(code: int) -> NoReturn:
    """Exit as the interpreter does, but for the teardown of modules: 30 ms, and nothing to see of it."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = 120
    os._exit(code)


if __name__ == "__main__":
    _name([sys.executable, "-P", __file__], [])  # instead of the room
    load()
    called = serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
    module = called[1] == "-m"
    sys.argv = [entry.__file__ if module else "-c", *called[3:]]
    try:
        (entry.main if module else entry.wt_loop)()
    except SystemExit as leaving:
        end(leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None))
    end(0)
