"""The findings of `spool doctor`."""

from enum import StrEnum

import msgspec

from spool.domain.agent.sign_in import SignInState


class Health(StrEnum):
    """A severity."""

    GOOD = "ok"
    NOTE = "note"
    """Something to know, which holds nothing up."""
    BAD = "problem"


class AgentFound(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's sign-in state, without the value of any key."""

    name: str
    sign_in: SignInState
    by: str = ""
    """The variable, file or command that shows that it is signed in."""
    reason: str = ""
    """Why it is unknown."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was examined."""

    area: str
    health: Health = Health.GOOD
    what: str
    hint: str = ""
    mend: str = ""
    """The repair; empty if only a person can do it."""
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
