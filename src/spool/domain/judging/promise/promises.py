"""Promises, and the reading of all of them."""

from enum import StrEnum

import msgspec

DEFAULT_PROMISE = "COMPLETE"
REASON_LIMIT = 4_000
"""Characters kept of a FAILED reason: it goes into the next prompt, and one of a megabyte has been seen."""


class PromiseKind(StrEnum):
    """A promise's meaning."""

    COMPLETE = "complete"
    FAILED = "failed"


class Promise(msgspec.Struct, frozen=True):
    """An agent's claim."""

    claim: PromiseKind
    reason: str = ""


class Veto(msgspec.Struct, frozen=True, omit_defaults=True):
    """A promise that does not count, and why."""

    promise: Promise
    why: str
    quote: str = ""
    """The line that holds it."""


class PromiseReading(msgspec.Struct, frozen=True):
    """All that was read: the promise that holds, if any, and those that do not."""

    kept: Promise | None = None
    vetoes: tuple[Veto, ...] = ()
    refused: Veto | None = None
    """The veto that the agent must hear of: its last message holds this promise, and no other counts."""
