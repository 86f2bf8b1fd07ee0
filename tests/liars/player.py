"""Plays a case of the table through the real command line, on one of its doors."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.liars.blind.case import OUTSIDE, Case
from tests.liars.blind.projects import CHANGE
from tests.support import Scratch, wait_for
from tests.support.plain_python import plain_python

NAME = CHANGE.rpartition("/")[2]
_LIMITS = {
    "ralph": ("--max-iterations", "2"),
    "run": ("--max-retries", "1"),
    "wt-loop": ("--max", "2"),
}


@dataclass(frozen=True)
class Played:
    """How a loop ended."""

    exit_code: int | None
    status: str
    proof: str | None
    """What the gates said of the last claim."""
    reason: str
    output: str
    unmet: tuple[str, ...] = ()
    """The checks that do not hold for what the agent left."""


def play(case: Case, door: str, base: Path, *, checks: bool = False) -> Played:
    """Run the case's loop to its end, and if wanted its checks of what the agent left."""
    scratch = _scratch(case, base)
    flags = [*_LIMITS[door], *case.flags, *case.flags_for.get(door, ())]
    flags += [word for gate in case.gates for word in ("--verify", _filled(gate, base))]
    match door:
        case "ralph":
            done = scratch.spool("ralph", "Do it.", "--change", NAME, *flags, timeout=600)
        case "run":
            done = scratch.spool("run", NAME, *flags, timeout=600)
        case _:
            words = ["start", NAME, "Do it.", "--path", str(scratch.root), "--done", "promise", "--terminal", "none"]
            done = scratch.wt_loop(*words, "--harness", "opencode", *flags, timeout=600)
            wait_for(
                lambda: _state(scratch, door).get("status", "running") != "running" or done.returncode, patience_s=600
            )
    state = _state(scratch, door)
    records = _history(scratch, door)
    claims = [record["proof"] for record in records if record.get("proof")]
    code = None if door == "wt-loop" else done.returncode
    said = done.stdout + done.stderr
    unmet = tuple(check for check in case.checks if checks and _fails(check, scratch))
    return Played(code, state.get("status", ""), claims[-1] if claims else None, state.get("reason", ""), said, unmet)


def _fails(check: str, scratch: Scratch) -> bool:
    return bool(subprocess.run(["bash", "-c", check], cwd=scratch.root, env=scratch.env, check=False).returncode)


def _scratch(case: Case, base: Path) -> Scratch:
    top, home, folder = base / "project", base / "home", base / "bin"
    root = top / case.folder
    for path in (root, home, folder, base / "outside"):
        path.mkdir(parents=True)
    env = {
        "PATH": os.pathsep.join([str(folder), str(plain_python()), os.environ["PATH"]]),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "SPOOL_ERROR_PAUSE": "0",
        "SPOOL_TRUSTED_PATHS": str(root),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "",
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _AUTHOR.items()},
    }
    scratch = Scratch(root, home, folder, env)
    files = {**case.files, **({".spool/config.toml": case.config} if case.config else {})}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(text, base))
        if text.startswith("#!"):
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
    for words in (("init", "-q", "-b", "main", str(top)), ("add", "-A"), ("commit", "-q", "-m", "start")):
        scratch.git(*words)
    _agent(case, scratch, base)
    return scratch


_AUTHOR = {"NAME": "Test", "EMAIL": "test@example.com"}


def _agent(case: Case, scratch: Scratch, base: Path) -> None:
    """Put an agent first on PATH that runs one step in each iteration."""
    folder = base / "steps"
    folder.mkdir()
    for number, step in enumerate(case.steps, 1):
        (folder / f"{number}.sh").write_text(_filled(step, base))
    script = scratch.bin / "opencode"
    steps = shlex.quote(str(folder))
    script.write_text(
        f"#!/bin/bash\nn=$SPOOL_ITERATION\nwhile [ ! -e {steps}/$n.sh ]; do n=$((n-1)); done\nexec bash {steps}/$n.sh\n"
    )
    script.chmod(0o755)


def _filled(text: str, base: Path) -> str:
    return text.replace(OUTSIDE, str(base / "outside"))


def _folder(scratch: Scratch, door: str) -> Path:
    return scratch.root / ".spool" / ".state" / door / NAME


def _state(scratch: Scratch, door: str) -> dict[str, Any]:
    try:
        loaded: dict[str, Any] = json.loads((_folder(scratch, door) / "state.json").read_text())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return loaded


def _history(scratch: Scratch, door: str) -> list[dict[str, Any]]:
    try:
        text = (_folder(scratch, door) / "history.jsonl").read_text()
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [json.loads(line) for line in text.splitlines() if line]
