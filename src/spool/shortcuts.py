"""The table of what is clever for milliseconds: each can be switched off, to measure what it is worth.

SPOOL_WITHOUT names those to leave out, or `all`; `python -m bench shortcuts` does. docs/evidence.md lists the gains.
"""

import os

_WITHOUT = os.environ.get("SPOOL_WITHOUT", "").split(",")


def _is_on(name: str) -> bool:
    return name not in _WITHOUT and "all" not in _WITHOUT


QUICK_CHECK = _is_on("quick-check")
"""An unchanged tree is seen by the status of its folders and rules (`record/quick_check.py`)."""
INDEX_STATUS = _is_on("index-status")
"""Few files are compared with git's index, parsed here (the same)."""
REF_STAMPS = _is_on("ref-stamps")
"""Unchanged refs are seen by the status of their files (`record/ref_stamps.py`)."""
USER_INDEX = _is_on("user-index")
"""A rewritten index is compared by its bytes and names before git lists it (`record/tracked.py`)."""
NOTES = _is_on("notes")
"""Modes, folders and ignored names are remembered from the last record (`record/modes.py`)."""
PROOFS = _is_on("proofs")
"""What was seen to be complete is not walked again (`record/shadow.py`)."""
LATE_GARBAGE = _is_on("late-garbage")
"""No garbage is collected while modules load (`__main__.py`)."""
NO_TLS = _is_on("no-tls")
"""asyncio is loaded without TLS, 4 MB of a runner's memory (`cli/edge.py`)."""
QUICK_EXIT = _is_on("quick-exit")
"""A quick command skips the interpreter's own end (`cli/edge.py`)."""
