"""Runs the command `openspec`, without its telemetry: Spool sends nothing that nobody configured."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from spool.domain.text.plain_text import one_line
from spool.host.external_command import Completed, run_command

_LONGEST = 500


async def run_openspec(words: Sequence[str], *, directory: Path, timeout_s: float) -> Completed:
    """Run `openspec` with these words in a directory, and return its result."""
    # The notice about its telemetry would also stand before what it says.
    env = {"OPENSPEC_TELEMETRY": "0", **os.environ}
    program = shutil.which("openspec") or "openspec"
    return await run_command([program, *words], directory=directory, timeout_s=timeout_s, env=env)


async def objections(change: str, *, directory: Path, timeout_s: float) -> str:
    """Return what `openspec validate` says against a change; empty if it is valid."""
    words = ("validate", change, "--strict", "--no-interactive")
    done = await run_openspec(words, directory=directory, timeout_s=timeout_s)
    return "" if done.exit_code == 0 else said(done) or f"exit code {done.exit_code}"


def said(done: Completed) -> str:
    """Return what it printed, or its errors."""
    return one_line(done.text.strip() or done.errors.decode("utf-8", "replace"), _LONGEST)
