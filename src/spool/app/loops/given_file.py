"""Reads a file that a person names on the command line: a prompt, or what a change is made from."""

import sys
from pathlib import Path

from spool.errors import UsageError
from spool.nofollow import Unreadable, read_linked

_DESCRIPTORS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Prefixes of descriptors that a shell passes for `<(command)`."""


def read_given(name: str, *, most_bytes: int) -> str:
    """Return the text of a file, or of standard input for `-`; raise UsageError unless it is UTF-8 and small enough."""
    try:
        data = _data(name, most_bytes)
    except Unreadable as error:
        raise UsageError(str(error.strerror)) from None
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    if len(data) > most_bytes:
        raise UsageError(f"{name} is larger than {most_bytes >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8 text (byte {error.start})") from None


def _data(name: str, most_bytes: int) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(most_bytes + 1)
    if name.startswith(_DESCRIPTORS):
        with Path(name).open("rb") as file:  # waits for the command, as for standard input
            return file.read(most_bytes + 1)
    return read_linked(Path(name), most_bytes=most_bytes)
