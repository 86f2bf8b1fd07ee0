"""The log of the embedded server, whose warnings under load no terminal shows."""

import os

from spool.domain.text.plain_text import one_line
from spool.host.state.files import last_lines
from spool.host.state.places import user_state
from spool.nofollow import make_folder, open_file

_LAST_LINES = 10
_LINE = 300
_MOST_BYTES = 64 << 20


class ServerLog:
    """A file that the server writes to; that of the server before is kept beside it."""

    def __init__(self) -> None:
        self.path = user_state() / "fleet" / "server.log"

    def open(self) -> int:
        """Begin a new log, and return its descriptor."""
        make_folder(self.path.parent)
        if self.path.exists():
            self.path.replace(self.path.with_suffix(".log.1"))
        # Appended to, so that it can be emptied while the server writes.
        return open_file(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def limit(self) -> None:
        """Empty a log that has grown too large: a server may run for months."""
        if self.path.exists() and self.path.stat().st_size > _MOST_BYTES:
            os.truncate(self.path, 0)

    def end(self) -> str:
        """Return the last lines, each indented on a line of its own."""
        lines = last_lines(self.path, _LAST_LINES) if self.path.exists() else []
        return "".join(f"\n    {one_line(line.decode('utf-8', 'replace'), _LINE)}" for line in lines if line.strip())
