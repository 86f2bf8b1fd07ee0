"""Opens logs without following links."""

import os
from pathlib import Path
from typing import TextIO

from spool.host.state.loop_files import log_text as append_log
from spool.nofollow import make_folder, open_file

__all__ = ["append_log", "open_log"]


def open_log(path: Path) -> TextIO:
    """Open a log for appending. Refuse a link, which an agent could have put there to redirect our writes."""
    make_folder(path.parent)
    descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    return open(descriptor, "r+", encoding="utf-8", errors="replace")  # noqa: PTH123
