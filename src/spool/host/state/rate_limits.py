"""The rate limits that loops have met, one small file per agent in the user's state directory.

Each loop reads the file of its agent before it starts an agent, so that no loop has to ask another. The file is a help,
not a record: one that is missing, damaged or from a clock that was set back is ignored.
"""

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.decoders import decoded
from spool.domain.loop.pacing import LONGEST_WAIT_S, RateLimit
from spool.errors import SpoolError
from spool.host.state.files import replace_file
from spool.host.state.places import user_state
from spool.host.state.records import encoded
from spool.nofollow import make_folder, read_file

_LARGEST = 1 << 16


class RateLimitFiles:
    """Reads and writes the files."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def known(self, harness: str) -> RateLimit | None:
        """Return the rate limit that was noted last, if any."""
        with suppress(OSError, SpoolError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return decoded(read_file(self._path(harness), most_bytes=_LARGEST), RateLimit)
        return None

    def note(self, harness: str, limit: RateLimit) -> None:
        """Note a rate limit, unless one that ends later is known."""
        earlier, latest = self.known(harness), limit.noted_at + LONGEST_WAIT_S
        if earlier and earlier.noted_at <= limit.noted_at and limit.until < earlier.until <= latest:
            return
        with suppress(OSError, SpoolError):
            path = self._path(harness)
            make_folder(path.parent)
            replace_file(path, encoded(limit))

    def _path(self, harness: str) -> Path:
        folder = self._folder or user_state() / "rate-limits"
        return folder / f"{hashlib.sha256(harness.encode('utf-8', 'replace')).hexdigest()[:16]}.json"
