"""Opens logs, and the agents' own, without following links."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from spool.host.state.loop_files import log_text as append_log
from spool.nofollow import make_folder, open_file

__all__ = ["append_log", "error_lines", "open_log"]
_PIECE = 1 << 16


def open_log(path: Path) -> TextIO:
    """Open a log for appending. Refuse a link, which an agent could have put there to redirect our writes."""
    make_folder(path.parent)
    descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    return open(descriptor, "r+", encoding="utf-8", errors="replace")  # noqa: PTH123


def error_lines(output: str) -> Iterator[str]:
    """Yield what an agent wrote to standard error, line by line, from the file beside its output."""
    with suppress(OSError):  # an agent may have removed it
        descriptor = open_file(Path(output).with_suffix(".err"), os.O_RDONLY)
        with open(descriptor, encoding="utf-8", errors="replace") as errors:  # noqa: PTH123
            while line := errors.readline(_PIECE):
                yield line.rstrip("\n")
