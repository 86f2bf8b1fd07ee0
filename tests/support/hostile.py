"""A repository full of escape sequences."""

import json
import re

import pytest

from tests.support import CHANGE, PROPOSAL, Scratch, Steps, make_scratch, wait_for
from tests.support.worktrees import Fleet

C1_AND_BIDI = "\x9b31m\x9d52;c;AAAA\x9c\u202egnp.exe\u2066\u200f\x7f"
NASTY = f"x\x1b]52;c;AAAA\x07\x1b[2J\x1bP1$r\x1b\\{C1_AND_BIDI}\ry"
ON_TWO_LINES = f"{NASTY}\nFORGED: all is well"
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def make_hostile(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """Return a repository with controls in its path, settings, titles, stories, file names, branch and state."""
    base = tmp_path_factory.mktemp("hostile") / f"p\x1b]0;owned\x07{C1_AND_BIDI[:-1]}"
    base.mkdir()
    scratch = make_scratch(base)
    scratch.env["XDG_STATE_HOME"] = str(scratch.home / "state")
    scratch.env["SPOOL_TRUSTED_PATHS"] = str(base)
    (scratch.change / "proposal.md").write_text(PROPOSAL.replace("Add", f"Add {NASTY}"))
    (scratch.change / "tasks.md").write_text(f"## 1. {NASTY}\n\n- [ ] 1.1 Write {NASTY}\n- [\x9b] 1.2 {NASTY}\n")
    (scratch.root / ".spool" / "config.toml").write_text(
        f"model = {toml(ON_TWO_LINES)}\nworktree_setup = {toml(ON_TWO_LINES)}\n"
        f"[harnesses.{toml(NASTY)}]\nargv = [{toml(NASTY)}]\n"
    )
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", NASTY)
    scratch.git("checkout", "--quiet", "-b", "b\x9b31m\u202ex")
    write: Steps = [{"write": f"{ON_TWO_LINES}.txt", "text": ON_TWO_LINES}, {"write": "b.txt", "text": ON_TWO_LINES}]
    says: Steps = [{"say": NASTY}, {"run": ["printf", "%s", ON_TWO_LINES]}]  # what an agent says may have many lines
    scratch.script([*write, *says, {"promise": f"FAILED: {NASTY}"}], [*says, {"promise": f"FAILED: {NASTY}"}])
    own = scratch.home / ".config" / "spool" / "config.toml"
    own.write_text(f"[harnesses.scripted]\nscript = {toml(str(scratch.home / 'script.json'))}\n")
    scratch.run("--max-retries", "1")
    scratch.ralph(NASTY, "--harness", "scripted", "--max-iterations", "1")
    words = ("start", CHANGE, NASTY, "--path", ".", "--harness", "scripted", "--terminal", "none", "--max", "1")
    started = Fleet(scratch).wt(*words, "--done", "promise")
    assert started.returncode == 0, started.stderr
    loop = scratch.root / ".claude" / "loop-state.json"
    wait_for(lambda: loop.exists() and json.loads(loop.read_text())["status"] != "running")
    with (scratch.root / ".claude" / "ralph-loop.log").open("a") as log:
        log.write(NASTY + "\n")
    for state in (scratch.root / ".spool" / ".state").glob("*/*/state.json"):
        found = json.loads(state.read_text())
        found |= dict.fromkeys(("reason", "harness", "task", "done_command", "terminal", "model"), ON_TWO_LINES)
        state.write_text(json.dumps(found))
    return scratch


def toml(text: str) -> str:
    return json.dumps(text).replace("\x7f", "\\u007f")
