"""Modes of files and folders, and FIFOs: git keeps one bit of a file's mode, and nothing of the rest.

They are remembered from one checkpoint to the next, beside the index that says which files have changed since. Reading
all of them anew would cost 0.5 s for 100,000 files, twice the time of `git status`.
"""

import os
import stat
from collections import Counter
from pathlib import Path

import msgspec

from spool import shortcuts
from spool.host.git.checkpoints.record.ignore_rules import IgnoreRules
from spool.host.git.checkpoints.record.stamps import Stamp
from spool.host.state.files import naming, opened, write_all
from spool.host.threads import Pulse
from spool.nofollow import WHOLE, read_linked

BITS = 0o7777
PULSE = 64
"""Files between two looks at whether the work is still wanted."""


class Modes(msgspec.Struct, kw_only=True):
    """Modes that git does not keep. A file that is not named has one of the two usual modes."""

    plain: int = 0o644
    executable: int = 0o755
    files: dict[bytes, int] = {}
    folders: dict[bytes, int] = {}
    """All folders that are not ignored; the top folder has an empty name."""
    fifos: dict[bytes, int] = {}

    def of_file(self, name: bytes, git_mode: bytes) -> int:
        """Return the mode of a file that git calls 100644 or 100755."""
        usual = self.executable if git_mode == b"100755" else self.plain
        return self.files.get(name, usual)


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """Ignored names and rules when nothing was left to record; valid until a folder or a rule changes."""

    rules: IgnoreRules
    ignored: list[bytes]


class Known(msgspec.Struct, kw_only=True):
    """Cached facts, and the index they belong to."""

    index: tuple[int, ...] = ()
    tree: str = ""
    modes: Modes
    recent: dict[bytes, Stamp] = {}
    """Files that changed a moment ago: git compares whole seconds, and misses another change in the same one."""
    scanned: dict[bytes, int] = {}
    """The mtime of each folder: an unchanged one cannot have become a repository, or have got a file."""
    gitignores: dict[bytes, Stamp] = {}
    """The files with ignore rules in the folders; empty stamps prove nothing."""
    settled: Settled | None = None
    user_index: tuple[int, ...] = ()
    """The user's index when it was last asked for files that are both tracked and ignored."""
    tracked: tuple[str, str] = ("", "")
    """Digests of that index and of its names, if every file that it names was recorded; empty ones prove nothing."""


def signature(path: Path) -> tuple[int, ...]:
    """Return the stat data that differ between versions of a file; empty without a file."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def load_known(path: Path, index: tuple[int, ...] | None) -> Known | None:
    """Return what is remembered of this very index, or of the last one, whichever it was."""
    if not shortcuts.NOTES:
        return None
    try:
        known = msgspec.msgpack.decode(read_linked(path, most_bytes=WHOLE), type=Known)
    except (OSError, msgspec.MsgspecError):
        return None
    return known if index is None or (index and known.index == index) else None


def save_known(path: Path, known: Known) -> None:
    """Remember. Not durable: what is lost is read anew."""
    temporary = path.with_suffix(".tmp")
    with naming(path):
        with opened(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
            write_all(descriptor, msgspec.msgpack.encode(known))
        temporary.rename(path)


def usual_modes(found: dict[bytes, os.stat_result]) -> Modes:
    """Return the modes that most files have, plain and executable ones."""
    modes = Counter(stat.S_IMODE(entry.st_mode) for entry in found.values() if stat.S_ISREG(entry.st_mode))
    plain = next((mode for mode, _ in modes.most_common() if not mode & stat.S_IXUSR), 0o644)
    executable = next((mode for mode, _ in modes.most_common() if mode & stat.S_IXUSR), 0o755)
    return Modes(plain=plain, executable=executable)


def learn_files(modes: Modes, found: dict[bytes, os.stat_result]) -> None:
    """Record the modes of files that were looked at."""
    usual = {modes.plain, modes.executable}
    for name, entry in found.items():
        mode = stat.S_IMODE(entry.st_mode) & BITS
        if stat.S_ISREG(entry.st_mode) and mode not in usual:
            modes.files[name] = mode
        else:
            modes.files.pop(name, None)


def look(top: bytes, names: list[bytes], pulse: Pulse) -> tuple[dict[bytes, os.stat_result], list[bytes]]:
    """Return what stands at each name, where anything does, and the names at which one cannot look."""
    found, refused = {}, []
    start = top + b"/"
    for number, name in enumerate(names):
        if not number % PULSE:
            pulse()
        try:
            found[name] = os.lstat(start + name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:  # the path is too long, or a folder is closed
            refused.append(name)
    return found, refused
