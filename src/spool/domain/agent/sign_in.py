"""Whether an agent is signed in, by what is in the environment and in its own files. No key's value appears here."""

from collections.abc import Callable
from enum import StrEnum

import msgspec


class Variable(msgspec.Struct, frozen=True):
    """A variable that is set, in the environment or in one of an agent's `env_files`."""

    name: str


class Kept(msgspec.Struct, frozen=True):
    """A file that is not empty, or a value in it.

    Its path starts with `~/`, `./` for the project, `/`, or one of the agent's `folders`: `$CODEX_HOME/`.
    """

    path: str
    key: str = ""
    """The value in a JSON or TOML file, `outer.inner`; without it, anything in the file counts."""


Sign = Variable | Kept
Way = tuple[Sign, ...]
"""Signs that mean a sign-in if all of them are there."""


class Doubt(msgspec.Struct, frozen=True):
    """A sign that may stand for a sign-in: with it, an agent never counts as not signed in."""

    sign: Sign
    why: str


class SignIn(msgspec.Struct, frozen=True, kw_only=True):
    """The signs that an agent is signed in; reading them needs no model and no network."""

    login: str
    """A person's way to sign in."""
    folders: tuple[tuple[str, str], ...] = ()
    """Variables that move the agent's own folders, and where these are otherwise, relative to the home directory."""
    env_files: tuple[str, ...] = ()
    """Files with lines `NAME=value` that the agent adds to its environment."""
    ways: tuple[Way, ...] = ()
    status: tuple[str, ...] = ()
    """The words after its name with which it fails unless it is signed in: offline, quick, without a conversation."""
    status_no: str = ""
    """Its output then if nobody is signed in; it may fail for other reasons."""
    status_needs: str = ""
    """A file that its first start writes: without it, nobody has signed in, and asking would only write it."""
    doubts: tuple[Doubt, ...] = ()
    keyless: str = ""
    """The reason it may work without a sign-in; empty if it cannot."""


class SignInState(StrEnum):
    """Whether an agent is signed in."""

    YES = "signed in"
    NO = "not signed in"
    UNKNOWN = "unknown"


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, with what it rests on."""

    answer: SignInState
    by: str = ""
    """The variable, file or command that shows it; never a value."""
    reason: str = ""
    """Why it is not known."""


class UnreadableSign(Exception):
    """A file with signs cannot be read; its message names the file."""


Find = Callable[[Sign], str]
"""Returns where a sign was found, for a person to read, or an empty string; raises Unreadable."""
Ask = Callable[[], bool | None]
"""Asks the agent's own command; returns None if it gave no answer."""


def each(*names: str) -> tuple[Way, ...]:
    """Return one way per variable."""
    return tuple((Variable(name),) for name in names)


def together(*names: str) -> Way:
    """Return the way that needs all of these variables."""
    return tuple(Variable(name) for name in names)


def doubts(why: str, *signs: Sign) -> tuple[Doubt, ...]:
    """Return a doubt per sign, for the same reason."""
    return tuple(Doubt(sign, why) for sign in signs)


def judged(known_by: SignIn, find: Find, ask: Ask, *, words: str) -> SignedIn:
    """Return whether an agent is signed in; `words` is the command that `ask` runs. A no needs every doubt gone."""
    unreadable = ""
    for way in known_by.ways:
        try:
            found = [find(sign) for sign in way]
        except UnreadableSign as error:
            unreadable = unreadable or str(error)
            continue
        if all(found):
            return SignedIn(answer=SignInState.YES, by=" and ".join(dict.fromkeys(found)))
    if (own := _own_word(known_by, find, ask)) is True:
        return SignedIn(answer=SignInState.YES, by=words)
    reason = unreadable or _doubt(known_by, find) or (f"'{words}' gave no answer" if own is None else "")
    if reason or known_by.keyless:
        return SignedIn(answer=SignInState.UNKNOWN, reason=reason or known_by.keyless)
    return SignedIn(answer=SignInState.NO)


def _own_word(known_by: SignIn, find: Find, ask: Ask) -> bool | None:
    """Return what the agent's own command says; False if it has none, or was never started."""
    if not known_by.status:
        return False
    try:
        started = not known_by.status_needs or find(Kept(known_by.status_needs))
    except UnreadableSign:
        return None
    return ask() if started else False


def _doubt(known_by: SignIn, find: Find) -> str:
    for doubt in known_by.doubts:
        try:
            found = find(doubt.sign)
        except UnreadableSign as error:
            return str(error)
        if found:
            return f"{found}: {doubt.why}"
    return ""
