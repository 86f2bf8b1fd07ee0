"""`spool clean` shows what Spool keeps about a repository, and removes it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support import CHANGE, Scratch, wait_for
from tests.support.terminal import terminal
from tests.support.worktrees import fleet_of


@pytest.fixture
def used(scratch: Scratch) -> Scratch:
    """A repository with a loop that is done and a story that was given up."""
    scratch.script([{"write": "a.txt", "text": "x"}, {"promise": "COMPLETE"}])
    scratch.ralph("Do it", "--harness", "scripted", "--verify", "true")
    scratch.script([{"write": "half.txt", "text": "x"}, {"promise": "FAILED: no"}])
    scratch.run("--max-retries", "0")
    return scratch


def kept(scratch: Scratch) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(scratch.spool("clean", "--json").stdout)
    return found


def own_state(scratch: Scratch) -> list[Path]:
    """Return what is kept in the user's own state directory, the account of spending aside."""
    folder = scratch.home / ".local/state/spool"
    return [path for path in folder.rglob("*") if path.is_file() and "spending" not in path.parts]


def test_it_lists_loops_and_what_they_share_with_sizes(used: Scratch) -> None:
    found = kept(used)
    assert [(loop["door"], loop["status"]) for loop in found["loops"]] == [("ralph", "done"), ("run", "stuck")]
    assert all(loop["bytes"] > 0 for loop in found["loops"])
    shown = used.spool("clean").stdout
    assert CHANGE in shown and "checkpoints and discarded attempts" in shown and "in all" in shown
    assert used.state.exists() and used.run_state.exists()


def test_ended_removes_what_is_done_and_nothing_else(used: Scratch) -> None:
    refused = used.spool("clean", "--ended")
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    done = used.spool("clean", "--ended", "--yes")
    assert done.returncode == 0, done.stderr
    assert not used.state.exists() and used.run_state.exists()
    assert "Nothing to remove" in used.spool("clean", "--ended", "--yes").stdout
    assert (used.root / "a.txt").exists() and (used.root / "half.txt").exists()


def test_older_than_goes_by_the_last_activity(used: Scratch) -> None:
    assert "Nothing to remove" in used.spool("clean", "--older-than", "14d", "--yes").stdout
    for path in used.run_state.rglob("*"):
        os.utime(path, (1, 1))
    state = used.run_state / "state.json"
    state.write_text(state.read_text().replace("2026", "2020").replace("2027", "2020"))
    os.utime(state, (1, 1))
    done = used.spool("clean", "--older-than", "14d", "--yes")
    assert "1 loop" in done.stdout, done.stdout + done.stderr
    assert used.state.exists() and not used.run_state.exists()


def test_a_removed_loop_leaves_no_checkpoint_to_go_back_to(used: Scratch) -> None:
    used.script([{"write": "half.txt", "text": "x"}, {"sleep": 0.1}, {"exit": 1}])
    used.run("--max-retries", "0")
    used.spool("clean", "--older-than", "0s", "--yes")
    (used.root / "mine.txt").write_text("mine\n")
    used.script([{"tick": 2}, {"promise": "COMPLETE"}])
    assert used.run().returncode == 0
    assert (used.root / "mine.txt").read_text() == "mine\n"


def test_everything_removes_every_trace_but_what_a_person_wrote(used: Scratch) -> None:
    exclude = used.root / ".git/info/exclude"
    before = exclude.read_text()
    (used.root / ".spool/config.toml").write_text("allow_all = true\n")
    used.trust()
    heading = "# The state, log and terminal of wt-loop are not part of the project."
    exclude.write_text(f"{before}mine\n\n{heading}\n/.claude/loop-state.json*\n")
    done = used.spool("clean", "--everything", "--yes")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (used.root / ".spool").iterdir()) == ["changes", "config.toml"]
    assert not (used.root / ".git/spool").exists()
    assert used.git("for-each-ref", "refs/spool") == ""
    assert exclude.read_text().startswith(before + "mine\n") and "claude" not in exclude.read_text()
    assert own_state(used) == []
    assert (used.root / "a.txt").exists()
    assert "keeps nothing" in used.spool("clean").stdout
    used.script([{"tick": 2}, {"promise": "COMPLETE"}])
    used.trust()
    assert used.run("--fresh").returncode == 0


def test_everything_removes_the_files_of_worktree_loops_with_the_lines_that_hid_them(scratch: Scratch) -> None:
    with fleet_of(scratch) as fleet:
        tree = fleet.worktree("add-auth")
        tree.script([{"say": "<promise>COMPLETE</promise>"}])
        tree.run("--done", "promise")
        (tree.path / ".claude" / "settings.json").write_text("{}\n")
        assert (tree.path / ".claude" / "ralph-loop.log").exists()
        wait_for(lambda: fleet.rows() == [])
        done = scratch.spool("clean", "--everything", "--yes")
        assert done.returncode == 0, done.stderr
        assert [path.name for path in (tree.path / ".claude").iterdir()] == ["settings.json"]
        assert "claude" not in (scratch.root / ".git/info/exclude").read_text()


@pytest.mark.parametrize(
    "link", [".spool", ".spool/.state", ".spool/.state/run", ".spool/.state/run/loop", ".git/spool"]
)
def test_nothing_behind_a_link_is_listed_or_removed(scratch: Scratch, link: str) -> None:
    """An agent can put a link to a person's folder in the place of one of Spool's."""
    whole = scratch.root / ".spool/.state/run/loop/mine.txt"
    inside = whole.relative_to(scratch.root / link) if whole.is_relative_to(scratch.root / link) else "x"
    mine = scratch.home / "mine" / inside
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    place = scratch.root / link
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(scratch.home / "before")
    place.symlink_to(scratch.home / "mine")
    assert kept(scratch)["loops"] == []
    done = scratch.spool("clean", "--everything", "--yes")
    assert done.returncode == 0, done.stderr
    assert mine.read_text() == "mine\n"


def test_a_running_loop_is_left_alone(used: Scratch) -> None:
    used.script([{"sleep": 600}])
    assert used.spool("run", CHANGE, "--harness", "scripted", "--detach").returncode == 0
    try:
        assert "a loop is running here" in used.spool("clean", "--everything", "--yes").stderr
        used.spool("clean", "--older-than", "0s", "--yes")
        assert used.run_state.exists()
    finally:
        used.spool("stop", CHANGE)


def test_clones_are_left_to_the_command_for_them(scratch: Scratch) -> None:
    scratch.script([{"write": "a.txt", "text": "x"}, {"tick": 2}, {"promise": "COMPLETE"}])
    assert scratch.run("--in", "clone", "--commit-stories").returncode == 0
    assert any(one["what"].startswith("clones") for one in kept(scratch)["shared"])
    refused = scratch.spool("clean", "--everything", "--yes")
    assert (refused.returncode, "spool workspace remove" in refused.stderr) == (2, True)


def test_it_asks_on_a_terminal(used: Scratch) -> None:
    with terminal(used, width=60) as shown:
        shown.spool("clean", "--everything")
        shown.until_shown("Remove all of this")
        shown.keys("n", "Enter")
        shown.type("echo", "left")
        shown.until_shown("left")
    assert used.state.exists()


def test_outside_of_git_and_with_contradictions(scratch: Scratch) -> None:
    folder = scratch.home / "plain"
    folder.mkdir()
    assert "keeps nothing" in scratch.spool("clean", cwd=folder).stdout
    done = scratch.spool("clean", "--everything", "--ended")
    assert (done.returncode, "cannot be used with" in done.stderr) == (2, True)
