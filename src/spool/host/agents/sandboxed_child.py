"""Closes a forked child's access before it becomes an agent's sandbox."""

import ctypes
import fcntl
import os
import sys
from pathlib import Path

from spool.host.state.files import write_all
from spool.nofollow import open_file, read_file

_KEYCTL = {"x86_64": 250, "aarch64": 219}
_JOIN_SESSION = 1
_ALL_SEALS = 0xF
"""Neither written, nor shrunk, nor grown, nor unsealed."""


def leave_session_keys() -> None:
    """Leave the keys of the person's session, which every process inherits, for an empty keyring."""
    number = _KEYCTL.get(os.uname().machine)
    if sys.platform == "linux" and number is not None:
        ctypes.CDLL(None).syscall(number, _JOIN_SESSION, None)


def open_to_read(path: Path) -> int:
    """Open a file to be read and never written: `/proc/self/fd` opens a descriptor anew, whatever the sandbox shows."""
    if sys.platform != "linux" or str(path) == os.devnull:
        return open_file(path, os.O_RDONLY)
    descriptor = os.memfd_create("spool", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    write_all(descriptor, read_file(path))
    os.lseek(descriptor, 0, os.SEEK_SET)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _ALL_SEALS)
    return descriptor
