"""Reads the progress of a clone from git's output, and reports it."""

import re

from spool.host.git.checkpoints.pace import LARGE_BYTES, tell

_PARTS = {b"Receiving objects": (0.0, 0.5), b"Resolving deltas": (0.5, 0.2), b"Updating files": (0.7, 0.3)}
"""The start of each part of the work, and its share."""
_SAID = re.compile(rb"(Receiving objects|Resolving deltas|Updating files): +\d+% \((\d+)/(\d+)\)")


def heard(said: bytes) -> None:
    """Report the share that git's last words say."""
    if found := _SAID.findall(said):
        part, done, total = found[-1]
        first, share = _PARTS[part]
        files = int(total)
        tell("clone", first + share * int(done) / max(1, files), files=files, size=LARGE_BYTES)
