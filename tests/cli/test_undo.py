"""`spool undo` brings a person's tree back to where a story or a run began, whatever the attempts did."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.stories import COMPLETE, TASKS, TICK
from tests.seeds.test_000_ralph_loop import on_a_terminal
from tests.support import CHANGE, PYTHON, Scratch, Steps, make_scratch, wait_for
from tests.support.worktrees import fleet_of


@pytest.fixture
def stories(scratch: Scratch) -> Scratch:
    (scratch.change / "tasks.md").write_text(TASKS)
    scratch.git("commit", "--quiet", "--all", "--message", "two stories")
    return scratch


def shell(text: str) -> dict[str, Any]:
    return {"run": ["sh", "-c", text]}


def refused_four_times(scratch: Scratch, *steps: dict[str, Any]) -> str:
    """Play an agent that claims COMPLETE with open boxes until its retries are over; return what was printed."""
    scratch.script([*steps, COMPLETE], [COMPLETE])
    done = scratch.run()
    assert done.returncode != 0
    assert done.stdout.count("refused") >= 4
    return done.stdout


def test_an_untracked_file_that_a_refused_agent_deleted_comes_back(stories: Scratch) -> None:
    notes = stories.root / "notes.txt"
    notes.write_text("mine\n")
    said = refused_four_times(stories, {"delete": "notes.txt"})
    assert "the agent deleted notes.txt, which is not in git; `spool undo` brings it back" in said
    assert said.count("the agent deleted notes.txt") == 1
    assert "to return to where it began: spool undo" in said
    stories.script([], [], [], [], [COMPLETE])
    again = stories.run("--on-resume", "revert")
    assert "spool undo returns to where the story began" in again.stdout
    assert not notes.exists()
    asked = stories.spool("undo")
    assert (asked.returncode, "restore  notes.txt" in asked.stderr) == (2, True)
    assert not notes.exists()
    done = stories.spool("undo", "--yes")
    assert done.returncode == 0, done.stderr
    assert notes.read_text() == "mine\n"
    assert stories.git("status", "--short") == "?? notes.txt\n"
    assert "is as it was" in stories.spool("undo", "--yes").stdout


def test_what_an_undo_replaces_can_be_restored(stories: Scratch) -> None:
    refused_four_times(stories, {"write": "work.py", "text": "work"})
    done = stories.spool("undo", CHANGE, "--yes")
    assert "remove  work.py" in done.stderr
    assert not (stories.root / "work.py").exists()
    name = done.stdout.split("spool checkpoint restore ")[1].strip()
    assert stories.spool("checkpoint", "restore", name).returncode == 0
    assert (stories.root / "work.py").read_text() == "work"


def test_a_test_file_that_a_refused_agent_deleted_comes_back(stories: Scratch) -> None:
    test = stories.root / "test_it.py"
    test.write_text("def test_it(): ...\n")
    stories.git("add", "--all")
    stories.git("commit", "--quiet", "--message", "a test")
    said = refused_four_times(stories, {"delete": "test_it.py"})
    assert "the agent deleted" not in said  # git has it
    assert stories.spool("undo", "--yes").returncode == 0
    assert test.read_text() == "def test_it(): ...\n"


def test_overwritten_emptied_and_ignored_files_come_back_and_are_named(stories: Scratch) -> None:
    (stories.root / ".gitignore").write_text(".env\n*.big\nbuild/\n")
    mine = {"one.txt": "one\n", "two.txt": "two\n", "empty.txt": "full\n", ".env": "KEY=1\n"}
    for name, text in mine.items():
        (stories.root / name).write_text(text)
    (stories.root / "build").mkdir()
    (stories.root / "build" / "out").write_text("out\n")
    act = "echo agent > one.txt; echo agent > two.txt; : > empty.txt; rm .env; rm -r build"
    said = refused_four_times(stories, shell(act))
    assert "the agent overwrote the content of 2 files, which is not in git; `spool undo` brings it back" in said
    assert "the agent emptied empty.txt, whose content is not in git; `spool undo` brings it back" in said
    assert "the agent deleted .env, which is not in git; `spool undo` brings it back" in said
    assert "the agent deleted build/; not saved, not recoverable" in said
    assert stories.spool("undo", "--yes").returncode == 0
    assert {name: (stories.root / name).read_text() for name in mine} == mine


def test_a_file_over_the_size_limit_is_named_as_not_recoverable(stories: Scratch) -> None:
    (stories.root / "huge.bin").write_bytes(bytes(2 << 20))
    stories.env["SPOOL_LARGE_FILE_MB"] = "1"
    said = refused_four_times(stories, {"delete": "huge.bin"})
    assert "huge.bin is larger than 1 MB: it is neither saved nor touched" in said
    assert "the agent deleted huge.bin; not saved, not recoverable" in said


def test_the_run_has_a_beginning_of_its_own(stories: Scratch) -> None:
    (stories.root / "notes.txt").write_text("mine\n")
    stories.script([{"delete": "notes.txt"}, {"tick": 2}, COMPLETE], [{"write": "two.txt"}, COMPLETE])
    assert stories.run().returncode != 0
    assert stories.spool("undo", "--yes").returncode == 0  # story 2 began without the file
    assert not (stories.root / "notes.txt").exists()
    assert not (stories.root / "two.txt").exists()
    assert "[x] 1.1" in (stories.change / "tasks.md").read_text()
    assert stories.spool("undo", "--run", "--yes").returncode == 0
    assert (stories.root / "notes.txt").read_text() == "mine\n"
    assert (stories.change / "tasks.md").read_text() == TASKS


def test_head_moves_back_over_commits_of_the_run(stories: Scratch) -> None:
    before = stories.git("rev-parse", "HEAD")
    stories.script([{"write": "one.txt"}, {"tick": 2}, COMPLETE], [TICK, {"write": "two.txt"}, COMPLETE])
    assert stories.run("--commit-stories").returncode == 0
    assert stories.git("rev-list", "--count", "HEAD").strip() == "4"
    done = stories.spool("undo", "--run", "--yes")
    assert "HEAD moves back over 2 commits of this loop" in done.stderr
    assert stories.git("rev-parse", "HEAD") == before
    assert stories.git("symbolic-ref", "HEAD").strip() == "refs/heads/main"
    assert stories.git("status", "--short") == ""
    name = done.stdout.split("spool checkpoint restore ")[1].strip()
    assert stories.spool("checkpoint", "restore", name).returncode == 0
    assert stories.git("rev-list", "--count", "HEAD").strip() == "4"


@pytest.mark.parametrize("holder", ["tag", "branch", "remote", "a person's commit"])
def test_head_stays_where_anybody_else_holds_its_commits(stories: Scratch, tmp_path: Path, holder: str) -> None:
    stories.script([{"write": "one.txt"}, {"tick": 2}, COMPLETE], [TICK, {"write": "two.txt"}, COMPLETE])
    assert stories.run("--commit-stories").returncode == 0
    match holder:
        case "tag":
            stories.git("tag", "held", "HEAD~1")
        case "branch":
            stories.git("branch", "held")
        case "remote":
            stories.git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
            stories.git("remote", "add", "origin", str(tmp_path / "remote.git"))
            stories.git("push", "--quiet", "origin", "main")
        case _:
            time.sleep(1.1)  # git has the times of commits in whole seconds
            (stories.root / "mine.txt").write_text("mine\n")
            stories.git("add", "mine.txt")
            stories.git("commit", "--quiet", "--message", "mine")
    head = stories.git("rev-parse", "HEAD")
    done = stories.spool("undo", "--run", "--yes")
    assert done.returncode == 0, done.stderr
    assert "HEAD stays, only files change: " in done.stderr
    assert stories.git("rev-parse", "HEAD") == head
    assert not (stories.root / "one.txt").exists()
    assert not (stories.root / "two.txt").exists()
    assert stories.git("diff", "--cached", "--name-only") == ""


def test_ralph_has_the_beginning_of_its_run(scratch: Scratch) -> None:
    (scratch.root / "notes.txt").write_text("mine\n")
    scratch.script([{"delete": "notes.txt"}], [{"write": "notes.txt", "text": "the agent's"}], [])
    said = scratch.ralph("Go", "--harness", "scripted", "--max-iterations", "3").stdout
    assert "the agent deleted notes.txt, which is not in git; `spool undo` brings it back" in said
    assert "to return to where it began: spool undo" in said
    done = scratch.spool("undo", "--yes")
    assert "back to the beginning of the run" in done.stderr
    assert (scratch.root / "notes.txt").read_text() == "mine\n"


def test_without_git_it_is_refused_with_the_reason(tmp_path: Path) -> None:
    scratch = make_scratch(tmp_path, git=False)
    scratch.script([{"write": "one.txt"}])
    said = scratch.ralph("Go", "--harness", "scripted", "--max-iterations", "1").stdout
    assert "spool undo" not in said
    for words in (["undo", "--yes"], ["undo", CHANGE, "--yes"]):
        done = scratch.spool(*words)
        assert done.returncode == 1
        assert "not a git repository" in done.stderr
    assert (scratch.root / "one.txt").exists()


def test_a_worktree_loop_is_undone_in_its_worktree(scratch: Scratch) -> None:
    with fleet_of(scratch) as fleet:
        tree = fleet.worktree("add-auth")
        tree.script([{"delete": "notes.txt"}, {"write": "one.txt"}])
        (tree.path / "notes.txt").write_text("mine\n")
        words = ("Go", "--harness", "scripted", "--terminal", "none", "--done-command", "test -e one.txt")
        started = fleet.wt("start", "add-auth", *words)
        assert started.returncode == 0, started.stderr
        wait_for(lambda: not fleet.rows())
        assert not (tree.path / "notes.txt").exists()
        rows = fleet.rows("--all")
        done = scratch.spool("undo", "add-auth", "--yes")
        assert ".claude" not in done.stderr
        assert fleet.rows("--all") == rows
        assert done.returncode == 0, done.stderr
        assert (tree.path / "notes.txt").read_text() == "mine\n"
        assert not (tree.path / "one.txt").exists()


@pytest.mark.parametrize("place", ["worktree", "clone"])
def test_a_loop_in_a_workspace_is_undone_there(stories: Scratch, place: str) -> None:
    stories.script([{"write": "one.txt"}, COMPLETE], [COMPLETE])
    assert stories.run("--in", place).returncode != 0
    loop = json.loads((stories.run_state / "state.json").read_text())
    made = Path(loop["workspace"]["path"]) / "one.txt"
    assert made.exists()
    assert "name the change" in stories.spool("undo", "--yes").stderr
    done = stories.spool("undo", CHANGE, "--yes")
    assert done.returncode == 0, done.stderr
    assert not made.exists()


@pytest.mark.parametrize("words", [["undo", "--yes"], ["undo", CHANGE], ["trust", "--grant"], ["trust", "--withdraw"]])
def test_what_speaks_for_a_person_is_refused_inside_a_loop(stories: Scratch, words: list[str]) -> None:
    refused_four_times(stories, {"write": "one.txt"})
    done = stories.spool(*words, env={"SPOOL_RUN_ID": "20260101T000000-abcdef"})
    assert (done.returncode, "an agent cannot" in done.stderr) == (2, True)
    assert (stories.root / "one.txt").exists()


def test_an_agent_cannot_undo_its_own_loop(stories: Scratch) -> None:
    (stories.root / "notes.txt").write_text("mine\n")
    undo = f"{PYTHON} -m spool undo --yes 2>> said.txt"
    refused_four_times(stories, shell(f"{undo}; env -u SPOOL_RUN_ID {undo}; true"))
    said = (stories.root / "said.txt").read_text()
    assert "an agent cannot undo" in said
    assert "is already running" in said


def test_a_running_loop_is_not_undone(stories: Scratch) -> None:
    stories.script([{"write": "one.txt"}, {"say": "Working"}, {"sleep": 600}])
    process = stories.start("run", CHANGE, "--harness", "scripted")
    log = stories.run_state / "logs" / "0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    done = stories.spool("undo", "--yes")
    assert (done.returncode, "is already running" in done.stderr) == (1, True)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == 130
    assert "spool undo" in stories.spool("run", "--status", "--change", CHANGE).stdout
    assert "spool undo" in stories.spool("report", CHANGE).stdout
    assert stories.spool("undo", "--yes").returncode == 0
    assert not (stories.root / "one.txt").exists()


def test_a_person_is_asked_and_may_say_no(stories: Scratch) -> None:
    refused_four_times(stories, {"write": "one.txt"})
    screen, code = on_a_terminal(stories, ["undo"], [(b"Go back?", b"n\n")])
    assert ("remove  one.txt" in screen, code) == (True, 1)
    assert (stories.root / "one.txt").exists()
    _, code = on_a_terminal(stories, ["undo"], [(b"Go back?", b"y\n")])
    assert (code, (stories.root / "one.txt").exists()) == (0, False)


def test_after_an_undo_the_story_starts_from_there(stories: Scratch) -> None:
    (stories.root / "notes.txt").write_text("mine\n")
    refused_four_times(stories, {"delete": "notes.txt"})
    assert stories.spool("undo", "--yes").returncode == 0
    steps: list[Steps] = [[]] * 4
    stories.script(*steps, [shell("test -e notes.txt"), {"tick": 2}, COMPLETE], [TICK, COMPLETE])
    assert stories.run().returncode == 0
    assert (stories.root / "notes.txt").read_text() == "mine\n"


def test_an_undo_that_was_killed_is_finished_by_the_next_command(stories: Scratch) -> None:
    mine = {f"mine-{number}.txt": f"{number}\n" * 50 for number in range(300)}
    for name, text in mine.items():
        (stories.root / name).write_text(text)
    refused_four_times(stories, shell("rm mine-*.txt; git add -A; git commit -qm agent"))
    for pause_s in (0.25, 0.35, 0.45, 0.55):
        process = stories.start("undo", "--yes", start_new_session=True)
        time.sleep(pause_s)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    stories.script(*[[]] * 4, [{"tick": 2}, COMPLETE], [TICK, COMPLETE])
    done = stories.spool("undo", "--yes")
    assert done.returncode == 0, done.stderr
    assert {name: (stories.root / name).read_text() for name in mine} == mine
    assert stories.git("log", "-1", "--format=%s").strip() == "two stories"


def test_an_uncommitted_plan_whose_boxes_the_agent_ticks_raises_no_warning(scratch: Scratch) -> None:
    (scratch.root / "PLAN.md").write_text("# Greet\n\n- [ ] say hello\n")
    (scratch.root / "notes.txt").write_text("mine\n")
    scratch.script(
        [{"write": "notes.txt", "text": "not mine\n"}, {"tick": 1}, {"promise": "COMPLETE"}],
    )
    done = scratch.spool("run", "PLAN.md", "--harness", "scripted")
    assert done.returncode == 0, done.stderr
    assert "overwrote the content of 1 file" in done.stdout, "notes.txt, and not the plan"
