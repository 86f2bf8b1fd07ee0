"""Starts an agent in a pid namespace, which the kernel ends as a whole, whoever is killed (Linux).

Three processes stand where one would: the one outside passes the agent's exit status on, the namespace's first process
collects orphans, and the agent is its child. When the first process ends, the kernel kills all others.
"""

import ctypes
import os
import signal
from pathlib import Path
from typing import NoReturn

from spool.host.agents.sweep import signal_me_when_parent_dies

_NEW_MOUNTS, _NEW_USER, _NEW_PIDS = 0x00020000, 0x10000000, 0x20000000
_RECURSIVE, _SLAVE = 1 << 14, 1 << 19
_FORWARDED = (signal.SIGINT,)


def enter(report: int) -> None:
    """Return as a process inside a new pid namespace; raise OSError if that is not allowed.

    The processes that stay behind close `report`.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_NEW_PIDS | _NEW_MOUNTS):
        _check(libc.unshare(_NEW_USER | _NEW_PIDS | _NEW_MOUNTS))
        Path("/proc/self/setgroups").write_text("deny", "ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", "ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", "ascii")
    signal_me_when_parent_dies(signal.SIGKILL)  # asked for again: a new user namespace forgets it
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    answers, answer = os.pipe()
    first = os.fork()
    if first:
        _pass_on(first, report, answers, answer)
    os.close(answers)
    signal_me_when_parent_dies(signal.SIGKILL)
    _check(libc.mount(None, b"/", None, _RECURSIVE | _SLAVE, None))
    _check(libc.mount(b"proc", b"/proc", b"proc", 0, None))
    agent = os.fork()
    if agent:
        _collect(agent, report, answer)


def _check(result: int) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "a new pid namespace")


def _pass_on(first: int, report: int, answers: int, answer: int) -> NoReturn:
    """Wait for the namespace's end, and end as its agent did."""
    os.close(report)
    os.close(answer)
    _forward_to(first)
    with os.fdopen(answers, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(first, 0)
    code = os.waitstatus_to_exitcode(int(told) if told else status)
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _collect(agent: int, report: int, answer: int) -> NoReturn:
    """Reap every process of the namespace until the agent ends."""
    os.close(report)
    _forward_to(agent)
    while True:
        pid, status = os.wait()
        if pid == agent:
            os.write(answer, str(status).encode("ascii"))
            os._exit(0)


def _forward_to(pid: int) -> None:
    for signum in _FORWARDED:
        signal.signal(signum, lambda number, _: os.kill(pid, number))
