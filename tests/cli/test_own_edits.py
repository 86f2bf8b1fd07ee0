"""What a person changed stays theirs: it is neither committed as the agent's nor reverted without being asked."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli.stories import COMPLETE, TASKS, TICK, stopped_in_story_one, types
from tests.seeds.test_000_ralph_loop import on_a_terminal
from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for
from tests.support.worktrees import fleet_of

REFUSES = "#!/bin/sh\necho 'lint: main.py:1 is too long' >&2\nexit 1\n"


@pytest.fixture
def stories(scratch: Scratch) -> Scratch:
    (scratch.change / "tasks.md").write_text(TASKS)
    scratch.git("commit", "--quiet", "--all", "--message", "two stories")
    return scratch


def edit(scratch: Scratch, how: str) -> None:
    """Edit the tree as a person does after a stop."""
    (scratch.root / "mine.txt").write_text("mine\n")
    if how in ("staged", "committed"):
        scratch.git("add", "mine.txt")
    if how == "committed":
        scratch.git("commit", "--quiet", "--message", "my own commit")


def hook(scratch: Scratch, text: str = REFUSES) -> None:
    path = scratch.root / ".git" / "hooks" / "pre-commit"
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize(
    "words",
    [
        ["ralph", "Go", "-c", CHANGE, "--auto-commit"],
        ["run", CHANGE, "--commit-stories"],
        ["run", CHANGE, "--commit-stories", "--detach"],
    ],
)
def test_a_loop_that_commits_refuses_a_dirty_tree(stories: Scratch, words: list[str]) -> None:
    (stories.root / "mine.txt").write_text("mine\n")
    stories.script([COMPLETE])
    done = stories.spool(*words, "--harness", "scripted")
    assert done.returncode == 2
    assert "would be committed as the agent's: mine.txt" in done.stderr
    assert "--include-dirty" in done.stderr
    assert not (stories.root / ".spool" / ".state").exists() or not list(stories.root.glob(".spool/.state/*/*"))
    assert "mine.txt" not in stories.git("ls-files")


def test_wt_loop_refuses_a_dirty_worktree_before_a_window_opens(stories: Scratch) -> None:
    with fleet_of(stories) as fleet:
        tree = fleet.worktree("add-auth")
        tree.script([COMPLETE])
        (tree.path / "mine.txt").write_text("mine\n")
        done = fleet.wt("start", "add-auth", "Go", "--harness", "scripted", "--terminal", "none", "--auto-commit")
        assert (done.returncode, "mine.txt" in done.stderr) == (2, True)
        assert fleet.rows("--all") == []


def test_the_written_change_may_be_uncommitted_and_a_flag_allows_the_rest(stories: Scratch) -> None:
    (stories.change / "tasks.md").write_text(TASKS + "- [ ] 2.2 Added just now\n")
    stories.script([{"tick": 2}, COMPLETE], [{"tick": 2}, COMPLETE])
    assert stories.run("--commit-stories").returncode == 0
    (stories.root / "mine.txt").write_text("mine\n")
    (stories.change / "tasks.md").write_text(TASKS)
    assert stories.run("--commit-stories", "--include-dirty").returncode == 0
    assert "mine.txt" in stories.git("ls-files")


def test_a_stopped_run_that_commits_continues_with_its_own_work(stories: Scratch) -> None:
    stopped_in_story_one(stories)
    stories.script([], [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    assert stories.run("--commit-stories", "--on-resume", "keep").returncode == 0
    assert "half.txt" in stories.git("ls-files")


def test_ralph_continues_with_its_own_work_and_refuses_a_persons(scratch: Scratch) -> None:
    scratch.script([{"write": "half.txt"}, {"say": "Working"}, {"sleep": 600}], [COMPLETE])
    words = ["ralph", "Go", "-c", CHANGE, "--harness", "scripted", "--auto-commit"]
    process = scratch.start(*words)
    log = scratch.state / "logs" / "0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    process.send_signal(signal.SIGINT)
    process.wait(timeout=PATIENCE_S)
    (scratch.root / "mine.txt").write_text("mine\n")
    refused = scratch.spool(*words)
    assert (refused.returncode, "half.txt, mine.txt" in refused.stderr) == (2, True)
    (scratch.root / "mine.txt").unlink()
    assert scratch.spool(*words).returncode == 0


@pytest.mark.parametrize("how", ["untracked", "staged", "committed"])
def test_edits_made_after_a_stop_are_kept(stories: Scratch, how: str) -> None:
    stopped_in_story_one(stories)
    edit(stories, how)
    head = stories.git("rev-parse", "HEAD")
    stories.script([], [{"promise": "FAILED: no"}], [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    events = stories.run_events()
    (kept,) = [event for event in events if event["type"] == "TreeKept"]
    assert kept["edited"]
    # A later attempt that fails goes back to the tree with the edits, not before them.
    assert types(events).count("Reverted") == 1
    assert (stories.root / "mine.txt").read_text() == "mine\n"
    assert (stories.root / "half.txt").exists()
    assert stories.git("rev-parse", "HEAD") == head
    assert "Complete" in types(events)
    # The checkpoint from before is still there.
    stories.git("checkout", "--quiet", "--", ".")
    done = stories.spool("checkpoint", "restore", kept["saved_as"])
    assert done.returncode == 0, done.stderr
    assert not (stories.root / "half.txt").exists()
    assert not (stories.root / "mine.txt").exists()


def test_a_kept_tree_says_how_to_go_back(stories: Scratch) -> None:
    stopped_in_story_one(stories)
    edit(stories, "untracked")
    stories.script([], [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    said = stories.run().stdout
    assert "continuing from the working tree as it is, which may have been edited since the last run" in said
    assert "spool checkpoint restore " in said


def test_fresh_never_touches_the_tree(stories: Scratch) -> None:
    stopped_in_story_one(stories)
    edit(stories, "untracked")
    stories.script([{"promise": "FAILED: no"}], [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    events = stories.run_events("--fresh")
    assert "Complete" in types(events)
    assert {(stories.root / name).exists() for name in ("mine.txt", "half.txt")} == {True}


def test_an_edited_tree_is_asked_about_on_a_terminal(stories: Scratch) -> None:
    stopped_in_story_one(stories)
    edit(stories, "untracked")
    stories.script([], [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    answers = [(b"not as the last run left it in story 1", b"\x1b[B\r")]
    screen, exit_code = on_a_terminal(stories, ["run", CHANGE, "--harness", "scripted"], answers=answers)
    assert exit_code == 0, screen
    assert "half.txt" in screen
    assert not (stories.root / "mine.txt").exists()


@pytest.mark.parametrize("door", ["ralph", "run"])
def test_commits_that_fail_are_an_exit_code_and_part_of_the_result(stories: Scratch, door: str) -> None:
    hook(stories)
    stories.script([{"write": "a.txt"}, {"tick": 2}, COMPLETE], [{"write": "b.txt"}, {"tick": 1}, COMPLETE])
    words = {"run": ["run", CHANGE, "--commit-stories"], "ralph": ["ralph", "Go", "--auto-commit", "-c", CHANGE]}[door]
    done = stories.spool(*words, "--harness", "scripted", *(["--min-iterations", "2"] if door == "ralph" else []))
    assert done.returncode == 5
    assert "but 2 commits failed" in done.stdout.splitlines()[-1]
    status = stories.spool(door, "--status", "-c", CHANGE)
    assert "done: " in status.stdout
    assert "but 2 commits failed" in status.stdout
    told = json.loads(stories.spool(door, "--status", "--json", "-c", CHANGE).stdout)
    assert (told["status"], told["state"]["memory"]["failed_commits"]) == ("done", 2)
    prompt = (stories.root / ".spool/.state" / door / CHANGE / "logs" / "0002.prompt.md").read_text()
    assert "> lint: main.py:1 is too long" in prompt


def test_a_commit_without_an_identity_fails_but_is_not_the_agents_to_mend(scratch: Scratch) -> None:
    for name in ("AUTHOR", "COMMITTER"):
        del scratch.env[f"GIT_{name}_NAME"], scratch.env[f"GIT_{name}_EMAIL"]
    scratch.git("config", "user.useConfigOnly", "true")
    scratch.script([{"write": "a.txt"}], [COMPLETE])
    done = scratch.ralph("Go", "--harness", "scripted", "--auto-commit")
    assert (done.returncode, "1 commit failed" in done.stdout) == (5, True)
    assert "refused to commit" not in scratch.prompt(2)


def test_a_stop_says_who_asked_for_it(scratch: Scratch) -> None:
    scratch.script([{"say": "Working"}, {"sleep": 600}])
    assert scratch.ralph("Go", "--harness", "scripted", "--detach").returncode == 0
    log = Path(scratch.state / "logs" / "0001.out")
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    assert scratch.spool("stop", CHANGE).returncode == 0
    assert scratch.load_state()["reason"] == "stopped by spool stop"
    assert scratch.history()[-1]["reason"] == "stopped by spool stop"
