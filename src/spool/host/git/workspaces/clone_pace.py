"""Reads from git's own words how far a clone is, and reports it to whoever has asked."""

import re

from spool.host.git.checkpoints.pace import LARGE_BYTES, tell

_PARTS = {b"Receiving objects": (0.0, 0.5), b"Resolving deltas": (0.5, 0.2), b"Updating files": (0.7, 0.3)}
"""Where each part of the work begins, and its share of all."""
_SAID = re.compile(rb"(Receiving objects|Resolving deltas|Updating files): +\d+% \((\d+)/(\d+)\)")


def heard(said: bytes) -> None:
    """Report the share that git's last words say."""
    if found := _SAID.findall(said):
        part, done, total = found[-1]
        first, share = _PARTS[part]
        files = int(total)
        tell("clone", first + share * int(done) / max(1, files), files=files, size=LARGE_BYTES)
