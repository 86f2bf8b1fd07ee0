"""Says whether an agent is signed in, without a conversation, without the network, and out of a repository's reach."""

import os
import shutil
import subprocess
from pathlib import Path

from spool.domain.invocation import Traits
from spool.domain.sign_in import Access, SignedIn, judged
from spool.host.agents.sign_in import Signs
from spool.host.git.repository import git_environment
from spool.host.sandbox.private import home_folder

_PATIENCE_S = 20


def sign_in_of(traits: Traits, project: Path | None = None) -> SignedIn:
    """Return whether an agent is signed in. What a project holds only ever turns a no into an unknown."""
    known_by = traits.sign_in
    if known_by is None:
        return SignedIn(answer=Access.UNKNOWN, reason=f"Spool does not know how {traits.program} signs in")
    words = (traits.program, *known_by.status)
    signs = Signs(known_by, os.environ, home_folder(), project)
    return judged(known_by, signs.find, lambda: _own_word(words, known_by.status_no), words=" ".join(words))


def _own_word(words: tuple[str, ...], no: str) -> bool | None:
    """Return what an agent's command says; None if it says neither. It starts where no project's settings are."""
    program = os.path.abspath(shutil.which(words[0]) or words[0])  # noqa: PTH100 - a link's name may matter to it
    try:
        done = subprocess.run(
            [program, *words[1:]],
            cwd="/",
            env=git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode == 0:
        return True
    return False if no.encode() in done.stdout + done.stderr else None
