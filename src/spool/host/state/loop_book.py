"""Keeps `.claude/loop-state.json` and the terminal's pid beside it, for other tools to read.

Nothing here may show up in `git status`. The lines that hide these files go into the repository's `info/exclude`: a
`.gitignore` in `.claude/` may be the project's own and tracked, and a new one would be one more file to explain.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.loop_file import LoopFile, LoopIteration, iteration_of, used
from spool.domain.state import SCHEMA, IterationRecord, LoopState, Phase
from spool.domain.stream import Usage
from spool.domain.verdict import Status
from spool.engine.worktree import Judged
from spool.errors import StateError, UnreadableState, UsageError
from spool.host.runner.identity import is_alive
from spool.host.state.files import FILE_MODE, make_folder, replace_file
from spool.host.state.records import encoded
from spool.host.state.registry import DIED
from spool.host.state.store import StateFolder

FOLDER = ".claude"
STATE = f"{FOLDER}/loop-state.json"
PID = f"{FOLDER}/ralph-terminal.pid"
LOG = f"{FOLDER}/ralph-loop.log"
OWN_FILES = (STATE, PID, LOG, f"{LOG}.1")
_EXCLUDED = (f"/{STATE}*", f"/{FOLDER}/.*.tmp", f"/{PID}", f"/{LOG}*")
_MARK = "done-by-hand"


def hide_own_files(common_dir: Path) -> None:
    """Hide the files of every worktree's loop from git, once, without touching anything that is tracked."""
    path = common_dir / "info" / "exclude"
    known = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
    missing = [line for line in _EXCLUDED if line not in known]
    if not missing:
        return
    path.parent.mkdir(exist_ok=True)
    text = (
        "\n# The state, the log and the terminal of wt-loop are no part of the project.\n" + "\n".join(missing) + "\n"
    )
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def refuse_links(root: Path) -> None:
    """Refuse a `.claude` that leads elsewhere: two worktrees would write each other's state."""
    if (root / FOLDER).is_symlink():
        raise UsageError(f"{root / FOLDER} is a link", hint="wt-loop keeps its state there and does not follow links")


def read_loop(root: Path) -> LoopFile | None:
    """Return what the loop's file says; None if there is none. What cannot be read is an error, never a default."""
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


def told(file: LoopFile) -> LoopFile:
    """Return the loop as a reader must tell it: one whose runner died is stopped, whatever the file says."""
    if file.status is not Status.RUNNING or is_alive(file.runner):
        return file
    return msgspec.structs.replace(file, status=Status.STOPPED, reason=DIED)


def write_loop(root: Path, file: LoopFile) -> None:
    """Replace the loop's file, durably; make its folder anew if somebody removed it."""
    make_folder(root / FOLDER)
    replace_file(root / STATE, msgspec.json.format(encoded(file), indent=2) + b"\n")


def mark_done(folder: Path) -> None:
    """Say to a running loop that its work is done."""
    make_folder(folder)
    replace_file(folder / _MARK, b"")


class LoopBook:
    """Stands between the loop and its state folder, and tells `.claude/loop-state.json` what happens."""

    def __init__(self, root: Path, folder: StateFolder, file: LoopFile) -> None:
        self._root = root
        self._folder = folder
        self._file = msgspec.structs.replace(file, iterations=_carried_on(root, folder, file))
        with suppress(FileNotFoundError):
            (folder.path / _MARK).unlink()
        write_loop(root, self._file)
        replace_file(root / PID, f"{file.terminal_pid}\n".encode())

    def save(self, state: LoopState) -> None:
        """Replace the current state, durably."""
        self._folder.save(state)
        ended = state.phase is Phase.ENDED and state.status is not Status.RUNNING
        self._write(
            status=state.status,
            reason=state.reason,
            current_iteration=state.iteration,
            run_iteration=state.run_iteration,
            updated_at=state.updated_at,
            ended_at=state.updated_at if ended else None,
        )

    def append(self, record: IterationRecord) -> None:
        """Add an iteration to the history, durably."""
        self._folder.append(record)
        self._write(iterations=(*self._file.iterations, iteration_of(record)))

    def judged(self, judged: Judged) -> None:
        """Note what was found out about an iteration."""
        self._write(
            iterations=tuple(_with(one, judged) if one.n == judged.iteration else one for one in self._file.iterations)
        )

    def last(self) -> IterationRecord | None:
        """Return the iteration that was recorded last."""
        found = self._folder.history(last=1)
        return found[0] if found else None

    def used(self) -> Usage:
        """Return what all iterations used."""
        return used(self._file.iterations)

    def marked_done(self) -> bool:
        """Whether a person has said that the work is done."""
        return (self._folder.path / _MARK).exists()

    def _write(self, **changed: object) -> None:
        file = msgspec.structs.replace(self._file, **changed)
        total = used(file.iterations)
        self._file = msgspec.structs.replace(file, tokens=total.tokens, cost=total.cost_usd)
        write_loop(self._root, self._file)


def _with(one: LoopIteration, judged: Judged) -> LoopIteration:
    return msgspec.structs.replace(
        one,
        exit_reason=judged.exit_reason,
        commits=judged.commits,
        done_check=judged.check.done if judged.check else None,
        done_reason=judged.check.why if judged.check else "",
        progress=judged.progress,
    )


def _carried_on(root: Path, folder: StateFolder, file: LoopFile) -> tuple[LoopIteration, ...]:
    """Return the iterations of earlier runs: history says which there were, the old file what was judged of them."""
    try:
        old = read_loop(root)
    except UnreadableState:
        (root / STATE).rename(root / f"{STATE}.unreadable")
        old = None
    known = {one.n: one for one in old.iterations} if old and old.change_id == file.change_id else {}
    return tuple(_same(known.get(record.iteration), record) for record in folder.history())


def _same(known: LoopIteration | None, record: IterationRecord) -> LoopIteration:
    return known if known is not None and known.started == record.started_at else iteration_of(record)


def log_text(root: Path, text: str) -> None:
    """Add to the log what the terminal shows besides the loop's own events."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        descriptor = os.open(root / LOG, flags, FILE_MODE)
        try:
            os.write(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
