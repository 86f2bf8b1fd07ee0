"""The system calls that a sandbox refuses, as a seccomp filter: those that reach what no namespace hides.

- Sockets of other families than unix, internet and netlink. A network namespace does not hold `AF_VSOCK`, by which a
  virtual machine speaks with its host.
- The keys of the session, which every process inherits: Kerberos tickets, passwords of encrypted file systems.
- `io_uring`, which opens sockets past any filter.
"""

import struct
from errno import EAFNOSUPPORT, ENOSYS
from pathlib import Path

from spool.host.state.files import replace_file
from spool.host.state.places import user_state
from spool.nofollow import make_folder, read_file

_FAMILIES = (1, 2, 10, 16)
"""`AF_UNIX`, `AF_INET`, `AF_INET6`, `AF_NETLINK`."""
_CALLS = {
    0xC000003E: (41, (248, 249, 250, 425)),  # x86_64
    0x40000003: (359, (102, 286, 287, 288, 425)),  # i386; 102 is socketcall, whose arguments no filter sees
    0xC00000B7: (198, (217, 218, 219, 425)),  # aarch64
    0x40000028: (281, (309, 310, 311, 425)),  # arm
}
"""For each architecture: socket; and add_key, request_key, keyctl and io_uring_setup."""
_X32 = 0x40000000
"""Numbers from here on are x86_64's second set of the same calls."""
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000


def filter_file() -> Path:
    """Return the file with the filter, out of every agent's reach."""
    path = user_state() / "sandbox" / "calls.bpf"
    content = _program()
    try:
        if read_file(path) == content:
            return path
    except OSError:
        make_folder(path.parent)
    replace_file(path, content)
    return path


def _program() -> bytes:
    """Return the filter as classic BPF."""
    lines = [_line(_LOAD, _ARCHITECTURE)]
    for architecture, (socket, refused) in _CALLS.items():
        block = [_line(_LOAD, _NUMBER), *_refuse_if(_AT_LEAST, _X32)]
        for call in refused:
            block += _refuse_if(_EQUAL, call)
        families = [_line(_EQUAL, family, len(_FAMILIES) - at) for at, family in enumerate(_FAMILIES)]
        block += [_line(_EQUAL, socket, 0, len(families) + 2), _line(_LOAD, _FIRST_ARGUMENT), *families]
        block += [_line(_RETURN, _REFUSE | EAFNOSUPPORT), _line(_RETURN, _ALLOW)]
        lines += [_line(_EQUAL, architecture, 0, len(block)), *block]
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def _refuse_if(test: int, value: int) -> list[bytes]:
    return [_line(test, value, 0, 1), _line(_RETURN, _REFUSE | ENOSYS)]


def _line(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    """Return one instruction; a test skips as many as are given for its answer."""
    return struct.pack("=HBBI", code, if_so, if_not, value)
