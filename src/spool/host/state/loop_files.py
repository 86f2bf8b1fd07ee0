"""Maintains `.claude/loop-state.json` and the terminal's pid file beside it, for other tools to read.

The repository's `info/exclude` hides these files from `git status`: a `.gitignore` in `.claude/` may be tracked by the
project, and a new one would be another untracked file.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.decoders import decoded
from spool.domain.loop.loop_file import LoopFile, LoopIteration, iteration_of, loop_file
from spool.domain.loop.state import IterationRecord, LoopState
from spool.domain.loop.summary import SCHEMA, LoopSummary
from spool.errors import StateError, UnreadableState, UsageError
from spool.host.disk_usage import remove, remove_if_empty
from spool.host.state.files import naming, opened, replace_file, write_all
from spool.host.state.loop_store import StateFolder
from spool.host.state.records import encoded
from spool.nofollow import Unreadable, make_folder, read_file

FOLDER = ".claude"
STATE = f"{FOLDER}/loop-state.json"
PID = f"{FOLDER}/ralph-terminal.pid"
LOG = f"{FOLDER}/ralph-loop.log"
OWN_FILES = (STATE, PID, LOG, f"{LOG}.1")
_UNREADABLE = f"{STATE}.unreadable"
_HEADING = "# The state, log and terminal of wt-loop are not part of the project."
_EXCLUDED = (f"/{STATE}*", f"/{FOLDER}/.*.tmp", f"/{PID}", f"/{LOG}*")


def hide_own_files(common_dir: Path) -> None:
    """Hide the loop files of every worktree from git, without touching a tracked file."""
    path = common_dir / "info" / "exclude"
    with naming(path):
        make_folder(path.parent)
        with opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
            known = os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode("utf-8", "replace").splitlines()
            if missing := [line for line in _EXCLUDED if line not in known]:
                write_all(descriptor, f"\n{_HEADING}\n{chr(10).join(missing)}\n".encode())


def own_excludes(common_dir: Path) -> list[str]:
    """Return the lines that hide the loop files from git."""
    with suppress(OSError):
        lines = read_file(common_dir / "info" / "exclude").decode("utf-8", "replace").splitlines()
        return [line for line in lines if line in _EXCLUDED]
    return []


def show_own_files(common_dir: Path) -> None:
    """Remove the lines from `info/exclude` that hide the loop files; all others stay as they are."""
    path = common_dir / "info" / "exclude"
    if not own_excludes(common_dir):
        return
    lines = read_file(path).decode("utf-8", "surrogateescape").splitlines(keepends=True)
    kept = [line for line in lines if line.rstrip("\n") not in (*_EXCLUDED, _HEADING)]
    replace_file(path, "".join(kept).encode("utf-8", "surrogateescape"), mode=path.stat().st_mode & 0o777)


def remove_own_files(root: Path) -> None:
    """Remove the loop files of a worktree, and their folder if nothing else is in it."""
    for name in (*OWN_FILES, _UNREADABLE):
        remove(root / name)
    remove_if_empty(root / FOLDER)


def refuse_links(root: Path) -> None:
    """Refuse a `.claude` that is a link: two worktrees would overwrite each other's state."""
    if (root / FOLDER).is_symlink():
        raise UsageError(f"{root / FOLDER} is a link", hint="Spool keeps its state there and does not follow links")


def read_loop_file(root: Path) -> LoopFile | None:
    """Return the loop file's content; None without a file. An unreadable file is an error, never a default."""
    path = root / STATE
    try:
        data = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Unreadable as error:
        raise StateError(str(error.strerror)) from None
    try:
        found = decoded(data, LoopFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableState(f"{path} cannot be read: {error}") from None
    if found.schema > SCHEMA:
        raise StateError(f"{path} was written by a newer Spool", hint="upgrade Spool; the file is left unchanged")
    return found


def write_loop_file(loop: LoopSummary, iterations: tuple[LoopIteration, ...]) -> None:
    """Replace the loop file durably; recreate its folder if it was removed."""
    root = Path(loop.root)
    make_folder(root / FOLDER)
    replace_file(root / STATE, msgspec.json.format(encoded(loop_file(loop, iterations)), indent=2) + b"\n")


def rewrite_loop_file(loop: LoopSummary) -> None:
    """Rewrite the loop file from the history, after the runner is gone."""
    write_loop_file(loop, _iterations(loop))


class LoopFileStore:
    """Saves to a loop's state folder and keeps `.claude/loop-state.json` up to date."""

    def __init__(self, folder: StateFolder, loop: LoopSummary) -> None:
        self._folder = folder
        self._loop = loop
        self._iterations = _iterations(loop)
        root = Path(loop.root)
        with suppress(FileNotFoundError):
            _set_aside_unreadable(root)
        write_loop_file(loop, self._iterations)
        replace_file(root / PID, f"{loop.terminal_pid}\n".encode())

    def save(self, state: LoopState) -> None:
        """Replace the current state durably."""
        self._folder.save(state)
        self._loop = state
        write_loop_file(state, self._iterations)

    def append(self, record: IterationRecord) -> None:
        """Append an iteration to the history durably."""
        self._folder.append(record)
        self._iterations = (*self._iterations, iteration_of(record, self._loop.criterion))
        write_loop_file(self._loop, self._iterations)


def _iterations(loop: LoopSummary) -> tuple[LoopIteration, ...]:
    history = StateFolder(Path(loop.folder)).history()
    return tuple(iteration_of(record, loop.criterion) for record in history)


def _set_aside_unreadable(root: Path) -> None:
    try:
        read_loop_file(root)
    except UnreadableState:
        (root / STATE).rename(root / _UNREADABLE)


def log_text(root: Path, text: str) -> None:
    """Append terminal output other than the loop's events to the log."""
    with suppress(OSError), opened(root / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as descriptor:
        os.write(descriptor, text.encode("utf-8", "replace"))
