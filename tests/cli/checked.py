"""A project with a check that can be made red and green."""

from __future__ import annotations

import subprocess
from typing import Any

from tests.support import Scratch

CHECK = """echo TAP version 13
echo 1..2
grep -q hello greet.txt && echo ok 1 - greets || echo not ok 1 - greets
grep -q bye greet.txt && echo ok 2 - parts || echo not ok 2 - parts
! grep -q wait greet.txt || { echo $$ > $HOME/checking; while [ ! -e $HOME/go ]; do sleep 0.05; done; }
"""
GATE = "sh check.sh"
DONE = {"promise": "COMPLETE"}


def greet(text: str) -> dict[str, Any]:
    return {"write": "greet.txt", "text": text}


def with_check(scratch: Scratch, text: str, check: str = CHECK) -> Scratch:
    (scratch.root / "greet.txt").write_text(text)
    (scratch.root / "check.sh").write_text(check)
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "a check")
    return scratch


def ralph(scratch: Scratch, *words: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    return scratch.ralph("Go", "--harness", "scripted", *words, **kwargs)
