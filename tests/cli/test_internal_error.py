"""A bug of ours ends the run as stuck, on disk and in the journal, with a crash file and one line that names it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import CHANGE, PATIENCE_S, Scratch

BUGGY = """
import sys
from spool.cli.edge import run
from spool.cli.main import spool
{bug}
sys.exit(run(spool, "spool"))
"""
IN_A_RUN = """
from spool.engine.plans.prompt_plan import PromptPlan
def judge(self, *args, **kwargs):
    raise ZeroDivisionError("a bug")
PromptPlan.judge = judge
"""
IN_A_CHECKPOINT = """
from spool.host.git.checkpoints.checkpoints import Checkpoints
async def fail(self):
    raise ZeroDivisionError("a bug")
Checkpoints.current = fail
"""
OUTSIDE = """
from spool.app.loops import loop_list
def running():
    raise ZeroDivisionError("a bug")
loop_list.running = running
"""


def run(scratch: Scratch, bug: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BUGGY.format(bug=bug), *words],
        cwd=scratch.root,
        env=scratch.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def crash_file(stderr: str) -> str:
    named = re.search(r"details are in (\S+)", stderr)
    assert named is not None, stderr
    return Path(named[1]).read_text()


def test_a_bug_in_a_run_ends_it_as_stuck(scratch: Scratch) -> None:
    scratch.script([{"say": "Hello"}])
    done = run(scratch, IN_A_RUN, "ralph", "Go", "--change", CHANGE, "--harness", "scripted", "--no-stream")
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    assert "spool: internal error: ZeroDivisionError: a bug" in done.stderr
    report = crash_file(done.stderr)
    for part in (
        "Traceback",
        "in judge",
        "ZeroDivisionError: a bug",
        "spool 0",
        "Python 3",
        '"type":"IterationStarted"',
    ):
        assert part in report
    state = scratch.load_state()
    assert (state["status"], state["phase"]) == ("stuck", "ended")
    assert state["reason"] == "internal error: ZeroDivisionError: a bug"
    assert [record["outcome"] for record in scratch.history()] == ["interrupted"]
    assert [event["type"] for event in scratch.journal()[-2:]] == ["Error", "RunEnded"]
    assert json.loads(scratch.spool("ps", "--all", "--json").stdout)[0]["status"] == "stuck"
    scratch.script([{"promise": "COMPLETE"}])
    assert scratch.ralph("Go", "--harness", "scripted").returncode == 0


BEFORE_THE_LOOP = """
from spool.app.starting.loop_builder import LoopBuilder
async def _plan(*given):
    raise ZeroDivisionError("a bug")
LoopBuilder._plan = _plan
"""


def test_a_bug_before_the_first_iteration_ends_the_run_as_stuck_too(scratch: Scratch) -> None:
    scratch.script([{"promise": "COMPLETE"}])
    done = run(scratch, BEFORE_THE_LOOP, "ralph", "Go", "--change", CHANGE, "--harness", "scripted")
    assert (done.returncode, "Traceback" in done.stdout + done.stderr) == (1, False)
    assert "ZeroDivisionError: a bug" in crash_file(done.stderr)
    assert scratch.load_state()["status"] == "stuck"
    assert [event["type"] for event in scratch.journal()] == ["RunEnded"]
    assert json.loads(scratch.spool("ps", "--all", "--json").stdout)[0]["status"] == "stuck"
    assert scratch.ralph("Go", "--harness", "scripted").returncode == 0


def test_a_bug_anywhere_else_leaves_a_crash_file_too(scratch: Scratch) -> None:
    done = run(scratch, OUTSIDE, "ps")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert "ZeroDivisionError: a bug" in crash_file(done.stderr)


@pytest.mark.parametrize("words", [["--debug", "ps"]])
def test_debug_shows_the_traceback(scratch: Scratch, words: list[str]) -> None:
    done = run(scratch, OUTSIDE, *words)
    assert done.returncode == 1
    assert "Traceback (most recent call last)" in done.stderr


def test_a_crash_file_says_where_a_bug_in_a_checkpoint_is(scratch: Scratch) -> None:
    scratch.script([{"say": "Hello"}])
    done = run(scratch, IN_A_CHECKPOINT, "run", CHANGE, "--harness", "scripted", "--no-stream")
    assert done.returncode == 1
    assert "in fail" in crash_file(done.stderr)


NOBODY = """
import pwd
def unknown(uid):
    raise KeyError(uid)
pwd.getpwuid = unknown
"""
OUT_OF_MEMORY = """
from spool.app.loops import loop_list
def running():
    raise MemoryError
loop_list.running = running
"""
NO_THREADS = """
import threading
def refuse(*_, **__):
    raise RuntimeError("can't start new thread")
threading._start_new_thread = refuse
"""


def test_a_user_without_a_home_gets_a_line(scratch: Scratch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        scratch.env.pop(name, None)
    for words in (["ps"], ["config"], ["ralph", "Go", "--change", CHANGE]):
        done = run(scratch, NOBODY, *words)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "spool: cannot find your home directory\n  set HOME" in done.stderr


def test_too_little_memory_is_a_line(scratch: Scratch) -> None:
    done = run(scratch, OUT_OF_MEMORY, "ps")
    assert (done.returncode, done.stderr) == (1, "spool: not enough memory\n  see: ulimit -v\n")


@pytest.mark.parametrize("words", [["ralph", "Go", "--change", CHANGE], ["run", CHANGE]])
def test_too_little_memory_for_a_thread_is_a_line(scratch: Scratch, words: list[str]) -> None:
    scratch.script([{"say": "Hello"}])
    done = run(scratch, NO_THREADS, *words, "--harness", "scripted", "--no-stream")
    assert done.returncode == 1
    assert done.stderr.endswith("spool: not enough memory\n  see: ulimit -v\n")
    assert not [*scratch.root.rglob("crash-*")]


@pytest.mark.parametrize("pattern", ["/etc/passwd", "../secret*", "a/../../b", "~/x"])
def test_a_file_outside_the_repository_is_not_copied_into_a_worktree(scratch: Scratch, pattern: str) -> None:
    (scratch.root / ".spool" / "config.toml").write_text(f'worktree_copy = ["{pattern}"]\n')
    done = scratch.spool("config")
    assert done.returncode == 2
    assert "worktree_copy must stay inside the repository" in done.stderr


@pytest.mark.parametrize("pattern", ["", " "])
def test_an_empty_pattern_is_refused(scratch: Scratch, pattern: str) -> None:
    (scratch.root / ".spool" / "config.toml").write_text(f'worktree_copy = ["{pattern}"]\n')
    done = scratch.spool("config")
    assert done.returncode == 2
    assert "worktree_copy cannot hold an empty pattern" in done.stderr
