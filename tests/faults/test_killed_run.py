"""`spool run`, killed with SIGKILL at each of its durable steps after the first agent's exit, and started again.

The steps are the system calls of the runner: every fsync, rename and link, and every program that it starts. The engine
alone is killed step by step, and twice over, in `tests/unit/engine/test_killed.py`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import CHANGE, PATIENCE_S, Scratch, make_scratch
from tests.support.scale import trials

TASKS = "## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Login\n\n- [ ] 2.1 Check\n"
AGENT = """
import os, pathlib, re, sys
prompt = sys.stdin.read()
story, attempt = re.search(r"story (\\d+), .*?in attempt (\\d+) of", prompt, re.DOTALL).groups()
with open(os.environ["SEEN"], "a") as seen:
    seen.write(f"{story}.{attempt} {'the tests are red' in prompt}\\n")
tasks = pathlib.Path(os.environ["SPOOL_CHANGE_DIR"], "tasks.md")
if (story, attempt) == ("1", "1"):
    pathlib.Path("spoiled.txt").write_text("spoiled")
    answer = "FAILED: the tests are red"
else:
    pathlib.Path(f"story-{story}.txt").write_text("good")
    tasks.write_text(tasks.read_text().replace(f"- [ ] {story}.1", f"- [x] {story}.1"))
    answer = "COMPLETE"
pathlib.Path(os.environ["ARMED"]).touch()
print(f"<promise>{answer}</promise>")
"""
DIES = """
import asyncio, os, signal, sys
count, at = 0, int(os.environ["DIE_AT"])
def step():
    global count
    if os.path.exists(os.environ["ARMED"]):
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
def mortal(module, name):
    work = getattr(module, name)
    def dying(*args, **kwargs):
        step()
        return work(*args, **kwargs)
    setattr(module, name, dying)
for name in ("fsync", "rename", "link"):
    mortal(os, name)
mortal(asyncio, "create_subprocess_exec")
from spool.cli.edge import run
from spool.cli.main import spool
code = run(spool, "spool")
open(os.environ["ARMED"] + ".steps", "w").write(str(count))
sys.exit(code)
"""
_SHARES = 4
"""All steps are killed, each in one share: a test has a few seconds."""


def prepared(base: Path) -> Scratch:
    base.mkdir(exist_ok=True)
    scratch = make_scratch(base)
    (scratch.change / "tasks.md").write_text(TASKS)
    scratch.git("commit", "--quiet", "--all", "--message", "two stories")
    scratch.agent(AGENT, name="mine")
    config = scratch.home / ".config" / "spool" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[harnesses.mine]\nargv = ["mine"]\n')
    scratch.env |= {"SEEN": str(scratch.home / "seen"), "ARMED": str(scratch.home / "armed"), "DIE_AT": "0"}
    return scratch


def run(scratch: Scratch, die_at: int) -> int:
    words = ["run", CHANGE, "--harness", "mine", "--commit-stories", "--include-dirty", "--on-resume", "revert"]
    return subprocess.run(
        [sys.executable, "-c", DIES, *words],
        cwd=scratch.root,
        env={**scratch.env, "DIE_AT": str(die_at)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    ).returncode


def history(scratch: Scratch) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (scratch.run_state / "history.jsonl").read_text().splitlines()]


def check(scratch: Scratch) -> None:
    """Whatever was killed: each attempt counted once, its reason kept, nothing lost, every story committed once."""
    records = history(scratch)
    assert [one["iteration"] for one in records] == list(range(1, len(records) + 1))
    judged = [(one["story_id"], one["attempt"]) for one in records if one["outcome"] != "interrupted"]
    assert judged == [("1", 1), ("1", 2), ("2", 1)]
    seen = Path(scratch.env["SEEN"]).read_text().splitlines()
    assert len(seen) <= 4
    for line in seen:
        assert re.fullmatch(r"1\.2 True|(1\.1|2\.1) False", line)
    assert not (scratch.root / "spoiled.txt").exists()
    assert [(scratch.root / f"story-{n}.txt").read_text() for n in "12"] == ["good", "good"]
    subjects = scratch.git("log", "--reverse", "--format=%s").splitlines()
    assert subjects == ["start", "two stories", "Story 1: Form", "Story 2: Login"]
    assert scratch.git("status", "--short") == ""


def steps_of(base: Path) -> int:
    scratch = prepared(base)
    assert run(scratch, 0) == 0
    check(scratch)
    return steps_taken(scratch)


def steps_taken(scratch: Scratch) -> int:
    """Return the steps of a run that ended by itself."""
    return int(Path(scratch.env["ARMED"] + ".steps").read_text())


def killed_at(base: Path, step: int) -> bool:
    """Kill a run before a step and continue it; return False if it ended before: a busy machine takes other steps."""
    scratch = prepared(base)
    killed = run(scratch, step)
    assert killed == -9 or steps_taken(scratch) < step, f"step {step}"
    assert run(scratch, 0) == 0, f"step {step}"
    try:
        check(scratch)
    except AssertionError as error:
        raise AssertionError(f"killed before step {step}") from error
    return killed == -9


@pytest.mark.parametrize("share", range(_SHARES))
def test_a_run_killed_at_any_step_continues_exactly_where_it_was(tmp_path: Path, share: int) -> None:
    steps = steps_of(tmp_path / "dry")
    assert steps > 20
    chosen = range(1, steps + 1, max(1, steps // trials(steps, least=8)))[share::_SHARES]
    killed = [killed_at(tmp_path / str(step), step) for step in chosen]
    assert sum(killed) >= 0.9 * len(killed)
