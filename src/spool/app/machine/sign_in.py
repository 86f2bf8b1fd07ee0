"""Finds out whether an agent is signed in, without a conversation or the network, out of a repository's reach."""

import os
from pathlib import Path

from spool.app.machine.program_answers import asked
from spool.domain.agent.invocation import Traits
from spool.domain.agent.sign_in import SignedIn, SignInState, judged
from spool.host.agents.sign_in_files import Signs
from spool.host.sandbox.private import home_folder


def sign_in_of(traits: Traits, project: Path | None = None) -> SignedIn:
    """Return whether an agent is signed in. What a project holds only ever turns a no into an unknown."""
    known_by = traits.sign_in
    if known_by is None:
        return SignedIn(answer=SignInState.UNKNOWN, reason=f"Spool does not know how {traits.program} signs in")
    words = (traits.program, *known_by.status)
    signs = Signs(known_by, os.environ, home_folder(), project)
    return judged(known_by, signs.find, lambda: _own_word(words, known_by.status_no), words=" ".join(words))


def _own_word(words: tuple[str, ...], no: str) -> bool | None:
    """Return what an agent's command says; None if it says neither."""
    done = asked(words)
    if done is not None and done.returncode == 0:
        return True
    return False if done is not None and no.encode() in done.stdout + done.stderr else None
