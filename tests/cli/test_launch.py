"""A loop that is started elsewhere: nothing of it stays behind, and nothing that an agent wrote is believed."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import CHANGE, Scratch, wait_for
from tests.support.worktrees import Fleet, fleet_of

COMPLETE = {"promise": "COMPLETE"}


@pytest.fixture
def fleet(scratch: Scratch) -> Iterator[Fleet]:
    with fleet_of(scratch) as made:
        yield made


def tickets(scratch: Scratch) -> list[Path]:
    return list(scratch.home.rglob("*.ticket"))


def test_a_terminal_that_cannot_be_started_leaves_no_ticket(fleet: Fleet) -> None:
    tree = fleet.worktree("add-auth")
    tree.script([COMPLETE])
    config = fleet.scratch.home / ".config" / "spool" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('terminal = ["no-such-terminal", "-e", "{command}"]\n')
    done = fleet.wt("start", "add-auth", "Go", "--harness", "scripted", env={"SECRET_API_KEY": "s3cret"})
    assert done.returncode == 1
    assert "cannot start no-such-terminal" in done.stderr
    assert tickets(fleet.scratch) == []


def test_a_loop_that_cannot_start_says_why_and_leaves_no_ticket(scratch: Scratch) -> None:
    scratch.script([COMPLETE])
    assert scratch.ralph("Go", "--harness", "scripted").returncode == 0
    (scratch.state / "journal.jsonl").unlink()
    (scratch.state / "journal.jsonl").mkdir()
    done = scratch.ralph("Go", "--harness", "scripted", "--detach")
    assert done.returncode == 1
    assert "the loop did not start" in done.stderr
    assert tickets(scratch) == []


def test_a_prompt_that_is_not_utf8_reaches_a_loop_in_the_background(scratch: Scratch) -> None:
    scratch.script([COMPLETE])
    done = scratch.ralph(os.fsdecode(b"caf\xe9"), "--harness", "scripted", "--detach")
    assert done.returncode == 0, done.stderr
    wait_for(lambda: (scratch.state / "state.json").exists() and scratch.load_state()["status"] == "done")
    assert b"caf\xe9" in (scratch.state / "logs" / "0001.prompt.md").read_bytes()


def test_stop_prints_nothing_that_acts_on_the_terminal(scratch: Scratch) -> None:
    scratch.script([COMPLETE])
    assert scratch.ralph("Go", "--harness", "scripted").returncode == 0
    state = scratch.load_state() | {"reason": "\x1b]0;PWNED\x07x", "change": "\x1b[2J"}
    (scratch.state / "state.json").write_text(json.dumps(state))
    done = scratch.spool("stop", CHANGE)
    assert "\x1b" not in done.stdout + done.stderr
    assert CHANGE in done.stdout


def test_a_worktree_that_was_moved_is_found_and_resumed(fleet: Fleet) -> None:
    tree = fleet.worktree("add-auth")
    tree.script([{"tick": 1}], [{"tick": 1}])
    assert tree.run("--max", "1")["status"] == "stuck"
    moved = tree.path.with_name("elsewhere")
    fleet.scratch.git("worktree", "move", str(tree.path), str(moved))
    tree.path = moved
    told = json.loads(fleet.wt("status", "--json", cwd=moved).stdout)
    assert (told["state"]["root"], told["state"]["log"]) == (str(moved), str(tree.log))
    assert len(json.loads(fleet.wt("history", "--json", cwd=moved).stdout)) == 1
    done = fleet.wt("resume", "--terminal", "none", cwd=moved)
    assert done.returncode == 0, done.stderr
    wait_for(lambda: tree.state()["status"] == "done")
    refused = fleet.wt("resume", "--max-tokens", "-5", cwd=moved)
    assert (refused.returncode, "--max-tokens cannot be negative" in refused.stderr) == (2, True)
