"""What `spool doctor` finds, as values."""

from enum import StrEnum

import msgspec

from spool.domain.sign_in import Access


class Health(StrEnum):
    """How a thing is."""

    GOOD = "ok"
    NOTE = "note"
    """Something to know, which holds nothing up."""
    BAD = "problem"


class AgentFound(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an agent's sign-in; no key's value is in it."""

    name: str
    sign_in: Access
    by: str = ""
    """The variable, file or command that shows that it is signed in."""
    reason: str = ""
    """Why that is not known."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was examined."""

    area: str
    health: Health = Health.GOOD
    what: str
    hint: str = ""
    mend: str = ""
    """What mending it does; empty if only the person can."""
    mended: bool = False
    agent: AgentFound | None = None


def good(area: str, what: str) -> Diagnosis:
    """Return that something is as it should be."""
    return Diagnosis(area=area, what=what)


def note(area: str, what: str, hint: str = "", *, mend: str = "") -> Diagnosis:
    """Return something to know."""
    return Diagnosis(area=area, health=Health.NOTE, what=what, hint=hint, mend=mend)


def bad(area: str, what: str, hint: str = "", *, mend: str = "") -> Diagnosis:
    """Return something that holds work up."""
    return Diagnosis(area=area, health=Health.BAD, what=what, hint=hint, mend=mend)
