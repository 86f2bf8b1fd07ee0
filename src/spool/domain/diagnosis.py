"""What `spool doctor` finds, as values."""

from enum import StrEnum

import msgspec


class Health(StrEnum):
    """How a thing is."""

    GOOD = "ok"
    NOTE = "note"
    """Something to know, which holds nothing up."""
    BAD = "problem"


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was examined."""

    area: str
    health: Health = Health.GOOD
    what: str
    hint: str = ""
    mend: str = ""
    """What mending it does; empty if only the person can."""
    mended: bool = False


def good(area: str, what: str) -> Diagnosis:
    """Return that something is as it should be."""
    return Diagnosis(area=area, what=what)


def note(area: str, what: str, hint: str = "", *, mend: str = "") -> Diagnosis:
    """Return something to know."""
    return Diagnosis(area=area, health=Health.NOTE, what=what, hint=hint, mend=mend)


def bad(area: str, what: str, hint: str = "", *, mend: str = "") -> Diagnosis:
    """Return something that holds work up."""
    return Diagnosis(area=area, health=Health.BAD, what=what, hint=hint, mend=mend)
