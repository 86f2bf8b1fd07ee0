"""Runs a local program for its version or its sign-in. It starts where no project's settings are."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from spool.host.git.repository import git_environment

_PATIENCE_S = 20


def asked(words: Sequence[str]) -> subprocess.CompletedProcess[bytes] | None:
    """Run a command that answers at once, whatever its exit code; return None if it is not there, or takes long."""
    program = shutil.which(words[0])
    if program is None:
        return None
    try:
        return subprocess.run(
            [os.path.abspath(program), *words[1:]],  # noqa: PTH100 - a link's name may matter to it
            cwd="/",
            env=git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
