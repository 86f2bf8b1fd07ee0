"""The decision whether an agent is signed in: a no needs every doubt gone."""

from __future__ import annotations

import pytest

from spool.domain.agent.sign_in import (
    Doubt,
    Kept,
    Sign,
    SignIn,
    SignInState,
    UnreadableSign,
    Variable,
    each,
    judged,
    together,
)

KEY, FILE, SETTINGS = Variable("KEY"), Kept("~/.x/auth.json"), Kept("~/.x/settings.json", "provider")
WAYS = (*each("KEY"), (FILE,), together("A", "B"))
DOUBTS = (Doubt(SETTINGS, "it names a provider"),)
PLAIN = SignIn(login="x login", ways=WAYS, doubts=DOUBTS)
ASKED = SignIn(login="x login", ways=WAYS, doubts=DOUBTS, status=("status",))


def answer(known_by: SignIn, *there: Sign, says: bool | None = False, broken: Sign | None = None) -> tuple[str, str]:
    def find(sign: Sign) -> str:
        if sign == broken:
            raise UnreadableSign("~/.x/auth.json cannot be read")
        if sign not in there:
            return ""
        return sign.name if isinstance(sign, Variable) else sign.path

    found = judged(known_by, find, lambda: says, words="x status")
    return found.answer, found.by or found.reason


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (answer(PLAIN), (SignInState.NO, "")),
        (answer(PLAIN, KEY), (SignInState.YES, "KEY")),
        (answer(PLAIN, FILE), (SignInState.YES, "~/.x/auth.json")),
        (answer(PLAIN, Variable("A")), (SignInState.NO, "")),
        (answer(PLAIN, Variable("A"), Variable("B")), (SignInState.YES, "A and B")),
        (answer(PLAIN, SETTINGS), (SignInState.UNKNOWN, "~/.x/settings.json: it names a provider")),
        (answer(PLAIN, SETTINGS, KEY), (SignInState.YES, "KEY")),
        (answer(PLAIN, broken=FILE), (SignInState.UNKNOWN, "~/.x/auth.json cannot be read")),
        (answer(PLAIN, KEY, broken=FILE), (SignInState.YES, "KEY")),
        (answer(PLAIN, broken=SETTINGS), (SignInState.UNKNOWN, "~/.x/auth.json cannot be read")),
        (answer(ASKED, says=True), (SignInState.YES, "x status")),
        (answer(ASKED, says=False), (SignInState.NO, "")),
        (answer(ASKED, says=None), (SignInState.UNKNOWN, "'x status' gave no answer")),
        (answer(ASKED, SETTINGS, says=True), (SignInState.YES, "x status")),
        (answer(ASKED, SETTINGS, says=False), (SignInState.UNKNOWN, "~/.x/settings.json: it names a provider")),
        (answer(SignIn(login="", keyless="free models")), (SignInState.UNKNOWN, "free models")),
    ],
)
def test_signs_become_an_answer(found: tuple[str, str], expected: tuple[str, str]) -> None:
    assert found == expected


def test_an_agent_that_was_never_started_is_not_asked() -> None:
    known_by = SignIn(login="", status=("status",), status_needs="~/.x.json")
    assert answer(known_by, says=True) == (SignInState.NO, "")
    assert answer(known_by, Kept("~/.x.json"), says=True) == (SignInState.YES, "x status")
