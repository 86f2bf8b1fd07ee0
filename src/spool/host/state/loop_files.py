"""Keeps `.claude/loop-state.json` and the terminal's pid beside it, for other tools to read.

None of these files may show up in `git status`. The lines that hide them go into the repository's `info/exclude`: a
`.gitignore` in `.claude/` may be the project's own and tracked, and a new one would be one more file to explain.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.loop import SCHEMA, LoopSummary
from spool.domain.loop_file import LoopFile, LoopIteration, iteration_of, loop_file
from spool.domain.state import IterationRecord, LoopState
from spool.errors import StateError, UnreadableState, UsageError
from spool.host.state.files import FILE_MODE, make_folder, replace_file
from spool.host.state.records import encoded
from spool.host.state.store import StateFolder

FOLDER = ".claude"
STATE = f"{FOLDER}/loop-state.json"
PID = f"{FOLDER}/ralph-terminal.pid"
LOG = f"{FOLDER}/ralph-loop.log"
OWN_FILES = (STATE, PID, LOG, f"{LOG}.1")
_EXCLUDED = (f"/{STATE}*", f"/{FOLDER}/.*.tmp", f"/{PID}", f"/{LOG}*")


def hide_own_files(common_dir: Path) -> None:
    """Hide the files of every worktree's loop from git, once, without touching anything that is tracked."""
    path = common_dir / "info" / "exclude"
    known = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
    missing = [line for line in _EXCLUDED if line not in known]
    if not missing:
        return
    path.parent.mkdir(exist_ok=True)
    text = "\n# The state, log and terminal of wt-loop are not part of the project.\n" + "\n".join(missing) + "\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def refuse_links(root: Path) -> None:
    """Refuse a `.claude` that leads elsewhere: two worktrees would write each other's state."""
    if (root / FOLDER).is_symlink():
        raise UsageError(f"{root / FOLDER} is a link", hint="Spool keeps its state there and does not follow links")


def read_loop_file(root: Path) -> LoopFile | None:
    """Return what the loop's file says; None without a file. An unreadable file is an error, never a default."""
    path = root / STATE
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        found = msgspec.json.decode(data, type=LoopFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableState(f"{path} cannot be read: {error}") from None
    if found.schema > SCHEMA:
        raise StateError(f"{path} was written by a newer Spool", hint="upgrade Spool; this one does not touch it")
    return found


def write_loop_file(loop: LoopSummary, iterations: tuple[LoopIteration, ...]) -> None:
    """Replace the loop's file, durably; recreate its folder if somebody removed it."""
    root = Path(loop.root)
    make_folder(root / FOLDER)
    replace_file(root / STATE, msgspec.json.format(encoded(loop_file(loop, iterations)), indent=2) + b"\n")


def rewrite_loop_file(loop: LoopSummary) -> None:
    """Write the loop's file anew from its history, after its runner is gone."""
    write_loop_file(loop, _iterations(loop))


class LoopFileStore:
    """Stands between a loop and its state folder, and keeps `.claude/loop-state.json` up to date."""

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
        """Replace the current state, durably."""
        self._folder.save(state)
        self._loop = state
        write_loop_file(state, self._iterations)

    def append(self, record: IterationRecord) -> None:
        """Add an iteration to the history, durably."""
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
        (root / STATE).rename(root / f"{STATE}.unreadable")


def log_text(root: Path, text: str) -> None:
    """Append to the log what the terminal shows besides the loop's own events."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        descriptor = os.open(root / LOG, flags, FILE_MODE)
        try:
            os.write(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
