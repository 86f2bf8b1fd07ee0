"""What an agent's error means: a status, or the agent's own fixed words, in; a `Failure` out."""

import re

from spool.domain.stream import ErrorKind, Failure
from spool.errors import Hint

BUSY = frozenset({429, 503, 529})
"""Too many requests, and the ways in which models say that they are overloaded."""
_REFUSED = frozenset({401, 403})
_NOT_FOUND = 404

_WAIT = re.compile(
    r"(?:(?:try again|retry|reset(?:s|ting)?) in|retryDelay\W+)\s*"
    r"((?:\d+(?:\.\d+)?\s*(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|ms|[dhms])\b[\s,]*(?:and\s+)?)+)",
    re.IGNORECASE,
)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[dhms])", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def failure(
    message: str,
    *,
    status: int | None = None,
    login: str,
    kind: ErrorKind | None = None,
    retry_after_s: float | None = None,
    resets_at: float | None = None,
    hint: str = "",
) -> Failure:
    """Return what an error means; `login` says how to sign this agent in."""
    kind = kind or _kind(status)
    hints = {ErrorKind.AUTH: login, ErrorKind.CONFIG: Hint.MODEL}
    limited = kind is ErrorKind.RATE_LIMIT
    return Failure(
        message=message.strip(),
        error=kind,
        status=status,
        retry_after_s=(wait_in(message) if retry_after_s is None else retry_after_s) if limited else None,
        resets_at=resets_at if limited else None,
        hint=hint or hints.get(kind, ""),
    )


def incomplete(what: str) -> Failure:
    """Return the failure of a stream that lacks its end: what came before may be a part only."""
    return Failure(message=f"the output ended without {what}", error=ErrorKind.INCOMPLETE)


def wait_in(message: str) -> float | None:
    """Return the wait that an error message asks for: `try again in 2 hours 3 minutes`, `retry in 34.07s`."""
    found = _WAIT.search(message)
    if found is None:
        return None
    return sum(float(number) * _UNITS[unit.lower()] for number, unit in _PART.findall(found[1]))


def _kind(status: int | None) -> ErrorKind:
    if status in BUSY:
        return ErrorKind.RATE_LIMIT
    if status in _REFUSED:
        return ErrorKind.AUTH
    return ErrorKind.CONFIG if status == _NOT_FOUND else ErrorKind.API
