"""Writes a crash file for bug reports: the traceback, the versions and the last events."""

import platform
import sys
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from spool import __version__
from spool.host.state.files import last_lines, replace_file
from spool.host.state.places import user_state
from spool.nofollow import make_folder

_EVENTS = 20


def write_crash(folder: Path | None, error: BaseException, *, run_id: str = "") -> Path | None:
    """Write a crash file into a loop's folder, or into the user's own; return its path, or None if that fails too."""
    now = datetime.now(UTC)
    with suppress(Exception):  # the disk, or the home directory, may be what broke
        place = folder or user_state() / "crashes"
        path = place / f"crash-{run_id or f'{now:%Y%m%dT%H%M%S}'}.txt"
        make_folder(place)
        replace_file(path, _report(place, error, now).encode("utf-8", "replace"))
        return path
    return None


def _report(folder: Path, error: BaseException, now: datetime) -> str:
    versions = f"spool {__version__}, Python {platform.python_version()}, {platform.platform()}"
    events = [line.decode("utf-8", "replace") for line in last_lines(folder / "journal.jsonl", _EVENTS)]
    return "\n".join(
        [
            f"{now:%Y-%m-%d %H:%M:%S} UTC, {versions}",
            f"argv: {sys.argv}",
            "",
            "".join(traceback.format_exception(error)),
            f"The last {len(events)} events:" if events else "No events.",
            *events,
            "",
        ]
    )
