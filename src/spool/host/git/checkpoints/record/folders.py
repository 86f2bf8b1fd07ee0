"""The folders of a working tree, which git does not record: modes, FIFOs in them, and which became repositories."""

import os
import stat
from contextlib import suppress

import msgspec

from spool.host.git.checkpoints.paths import ExcludedPaths, is_readable, parents, place, status
from spool.host.git.checkpoints.record.modes import BITS, PULSE, Known
from spool.host.git.checkpoints.record.stamps import Stamp, is_past, stamp_of
from spool.host.threads import Pulse


class Folders(msgspec.Struct):
    """Folders to treat apart."""

    repositories: list[bytes] = []
    """Those that have a `.git`: git still lists the files of a folder that has become a repository."""
    closed: list[bytes] = []
    """Those that cannot be read, the outermost ones."""


def learn_folders(
    top: bytes, known: Known, more: set[bytes], behind: ExcludedPaths, *, now_ns: int, pulse: Pulse
) -> Folders:
    """Check every known folder again, and some more: a chmod of a folder leaves no trace in any index."""
    found, hidden = Folders(), set[bytes]()
    before, known.modes.folders = known.modes.folders, {}
    scanned, known.scanned = known.scanned, {}
    rules, known.gitignores = known.gitignores, {}
    fifos, known.modes.fifos = known.modes.fifos, {}
    unseen = set[bytes]()
    for number, name in enumerate(sorted(before.keys() | more | {b""})):
        if not number % PULSE:
            pulse()
        above = _above(name)
        if (behind.names and behind.covers(name)) or (name and above in hidden):
            hidden.add(name)
            known.modes.folders |= {name: before[name]} if name in before else {}
            continue
        try:
            entry = status(top, name) if not name or above in known.modes.folders else None
        except OSError:  # its path is longer than the system takes
            found.closed.append(name)
            hidden.add(name)
            continue
        if entry is None or not stat.S_ISDIR(entry.st_mode):
            continue  # gone, or behind what is now a link
        known.modes.folders[name] = stat.S_IMODE(entry.st_mode) & BITS
        if not is_readable(top, name, entry):
            found.closed.append(name)
            hidden.add(name)
        elif scanned.get(name) == entry.st_ctime_ns:
            known.scanned[name] = entry.st_ctime_ns
            unseen.add(name)
        elif not _scan(top, name, known, found) and is_past(entry.st_ctime_ns, now_ns):
            known.scanned[name] = entry.st_ctime_ns
    known.modes.fifos |= {name: mode for name, mode in fifos.items() if _above(name) in hidden}
    for name in fifos:
        if _above(name) in unseen and (entry := status(top, name)) and stat.S_ISFIFO(entry.st_mode):
            known.modes.fifos[name] = stat.S_IMODE(entry.st_mode) & BITS
    known.gitignores |= {name: stamp for name, stamp in rules.items() if _above(name) in unseen}
    known.gitignores = {name: _proved(top, name, now_ns) for name in known.gitignores}
    return found


def _proved(top: bytes, name: bytes, now_ns: int) -> Stamp:
    """Return a file's stamp; an empty one if a change after `now_ns` might leave the same."""
    with suppress(OSError):
        entry = status(top, name)
        return stamp_of(entry) if entry and is_past(entry.st_ctime_ns, now_ns) else ()
    return ()


def folders_of(names: list[bytes]) -> set[bytes]:
    """Return every folder above any of the names."""
    found: set[bytes] = set()
    for name in names:
        for parent in parents(name):
            if parent in found:
                break
            found.add(parent)
    return found


def open_folders(top: bytes, names: list[bytes]) -> dict[bytes, int]:
    """Make our own folders readable again; return the modes that they had."""
    before = {}
    for name in sorted(names):
        try:
            entry = status(top, name)
            if entry is not None and stat.S_ISDIR(entry.st_mode) and not is_readable(top, name, entry):
                place(top, name).chmod(stat.S_IMODE(entry.st_mode) | stat.S_IRWXU)
                before[name] = stat.S_IMODE(entry.st_mode) & BITS
        except OSError:
            continue  # another user's
    return before


def _scan(top: bytes, folder: bytes, known: Known, found: Folders) -> bool:
    """Scan a folder that has changed; return whether it has become a repository."""
    prefix = folder + b"/" if folder else b""
    with os.scandir(top + b"/" + folder) as entries:
        for entry in entries:
            if entry.name == b".git" and folder:
                found.repositories.append(folder)
            elif entry.name == b".gitignore":
                known.gitignores[prefix + entry.name] = ()
            elif not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISFIFO(mode):
                    known.modes.fifos[prefix + entry.name] = stat.S_IMODE(mode) & BITS
    return folder in found.repositories[-1:]


def _above(name: bytes) -> bytes:
    return name.rpartition(b"/")[0]
