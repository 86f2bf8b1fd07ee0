"""Saves small ignored files (`.env`) within limits; never deletes them."""

import os
import stat
from contextlib import suppress

from spool.host.git.checkpoints.paths import place, status, within
from spool.host.state.files import write_all
from spool.host.threads import Pulse
from spool.nofollow import WHOLE, read_linked

MOST_FILES, MOST_BYTES_EACH, MOST_BYTES = 200, 1 << 20, 16 << 20
_DRAFT = ".spool-draft"
"""Short: a suffix to a name of 255 bytes would be too long."""

Saved = dict[bytes, tuple[int, bytes]]


def read_ignored(top: bytes, ignored: list[bytes], pulse: Pulse) -> tuple[Saved, list[bytes]]:
    """Return the small single files among ignored ones, and those beyond the limits."""
    saved: Saved = {}
    refused = []
    room = MOST_BYTES
    for name in ignored:
        pulse()
        entry = None
        with suppress(OSError):
            entry = None if name.endswith(b"/") else status(top, name)
        if entry is None or not (stat.S_ISREG(entry.st_mode) or stat.S_ISLNK(entry.st_mode)):
            continue
        if len(saved) == MOST_FILES or entry.st_size > min(room, MOST_BYTES_EACH):
            refused.append(name)
            continue
        try:
            saved[name] = (entry.st_mode, _content(top, name, entry.st_mode))
        except OSError:
            refused.append(name)
            continue
        room -= len(saved[name][1])
    return saved, refused


def differing(top: bytes, saved: Saved, pulse: Pulse) -> list[bytes]:
    """Return the saved files that have changed."""
    return [name for name in saved if _differs(top, name, saved[name], pulse)]


def write_ignored(top: bytes, name: bytes, kept: tuple[int, bytes]) -> None:
    """Put one saved file back; whatever stood in its way is already gone."""
    mode, data = kept
    path = place(top, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(_DRAFT)
    draft.unlink(missing_ok=True)
    if stat.S_ISLNK(mode):
        draft.symlink_to(os.fsdecode(data))
    else:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            write_all(descriptor, data)
            os.fchmod(descriptor, stat.S_IMODE(mode))
        finally:
            os.close(descriptor)
    draft.replace(path)


def _differs(top: bytes, name: bytes, kept: tuple[int, bytes], pulse: Pulse) -> bool:
    pulse()
    with suppress(OSError):
        entry = status(top, name)
        if entry is not None and entry.st_mode == kept[0] and within(top, name):
            return entry.st_size != len(kept[1]) or _content(top, name, entry.st_mode) != kept[1]
    return True


def _content(top: bytes, name: bytes, mode: int) -> bytes:
    path = place(top, name)
    return os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else read_linked(path, most_bytes=WHOLE)
