"""Classifies an agent's error: turns a status, or the agent's own fixed words, into a `Failure`."""

import re

from spool.domain.agent.stream import ErrorKind, Failure
from spool.errors import Hint

BUSY = frozenset({429, 503, 529})
"""Statuses for too many requests and for an overloaded model."""
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
    """Return the failure for an error; `login` is the hint on how to sign in."""
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


def status_in(message: str, pattern: re.Pattern[str]) -> int | None:
    """Return the HTTP status that an error message names, where the pattern finds it."""
    found = pattern.search(message)
    return int(found[1]) if found else None


def incomplete(what: str) -> Failure:
    """Return the failure for a stream without its end, whose content may be incomplete."""
    return Failure(message=f"the output ended without {what}", error=ErrorKind.INCOMPLETE)


def wait_in(message: str) -> float | None:
    """Return the seconds to wait that an error message names: `try again in 2 hours 3 minutes`, `retry in 34.07s`."""
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
