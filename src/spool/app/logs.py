"""Opens logs without following links."""

import os
from pathlib import Path
from typing import TextIO

from spool.host.state.files import FILE_MODE, make_folder
from spool.host.state.loop_files import log_text as append_log

__all__ = ["append_log", "open_log"]


def open_log(path: Path) -> TextIO:
    """Open a log for appending. Refuse a link, which an agent could have put there to redirect our writes."""
    make_folder(path.parent)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(path, flags, FILE_MODE), "r+", encoding="utf-8", errors="replace")  # noqa: PTH123
