"""What a loop in a worktree was asked to do, and how that reaches the runner in its new terminal."""

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec

from spool.domain.criteria import Criterion
from spool.errors import StateError, UsageError
from spool.host.state.files import make_folder, replace_file

_TERMINALS_OWN = (
    "TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "WINDOWID", "COLUMNS", "LINES",
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "KITTY_WINDOW_ID", "KITTY_PID", "ALACRITTY_WINDOW_ID", "WEZTERM_PANE",
)  # fmt: skip
"""What a terminal tells the programs in it; everything else comes from where the loop was started."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """All that a person asked for; it is kept, so that `resume` can ask for it again."""

    change_id: str
    worktree: str
    task: str
    criterion: Criterion
    done_command: str = ""
    max_iterations: int | None = None
    stall: int = 0
    flags: dict[str, Any] = {}
    """The settings that were given as flags."""


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """What the new terminal's runner gets: by a file, so that nothing of it passes through a terminal's argv."""

    request: Request
    run_id: str
    terminal: str
    fresh: bool
    keep_open: bool
    environment: tuple[tuple[bytes, bytes], ...]
    """A tmux server or a desktop's terminal gives its own environment, which may be days old."""


def write_ticket(path: Path, ticket: Ticket) -> None:
    """Write a ticket for this user's eyes only: its environment may hold keys."""
    make_folder(path.parent)
    replace_file(path, msgspec.json.encode(ticket))


def take_ticket(path: Path) -> Ticket:
    """Read a ticket and remove it."""
    try:
        ticket = msgspec.json.decode(path.read_bytes(), type=Ticket)
    except (OSError, msgspec.MsgspecError) as error:
        raise StateError(f"{path} cannot be read: {error}") from None
    path.unlink(missing_ok=True)
    return ticket


def take_on_environment(ticket: Ticket) -> None:
    """Become what the process was that asked for the loop, but for what belongs to the terminal."""
    own = {name: os.environ[name] for name in _TERMINALS_OWN if name in os.environ}
    os.environ.clear()
    os.environb.update({name: value for name, value in ticket.environment if os.fsdecode(name) not in _TERMINALS_OWN})
    os.environ.update(own)


def this_environment() -> tuple[tuple[bytes, bytes], ...]:
    """Return the environment of this process."""
    return tuple(os.environb.items())


def keep_request(common_dir: Path, request: Request) -> None:
    """Keep what was asked for under the git common directory, where no `git clean` takes it."""
    path = _kept(common_dir, Path(request.worktree), request.change_id)
    make_folder(path.parent)
    replace_file(path, msgspec.json.encode(request))


def kept_request(common_dir: Path, root: Path, change_id: str) -> Request:
    """Return what a loop was asked to do when it was started."""
    path = _kept(common_dir, root, change_id)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Request)
    except FileNotFoundError:
        raise UsageError(f"there is no loop on '{change_id}' to go on with", hint="wt-loop start begins one") from None
    except msgspec.MsgspecError as error:
        raise StateError(f"{path} cannot be read: {error}") from None


def _kept(common_dir: Path, root: Path, change_id: str) -> Path:
    key = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    return common_dir / "spool" / "requests" / f"{change_id}-{key}.json"
