"""Commands act on the repository they are typed in, on short ids too, and on nothing that is gone."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import CHANGE, Scratch, wait_for
from tests.support.worktrees import WORKING, Fleet, Worktree, fleet_of, is_gone

SCRIPTED = ("--harness", "scripted", "--terminal", "none")


@pytest.fixture
def fleet(scratch: Scratch) -> Iterator[Fleet]:
    with fleet_of(scratch) as made:
        yield made


@pytest.fixture
def other(fleet: Fleet, tmp_path: Path) -> Scratch:
    """A second project with the same change, in a repository of its own."""
    shutil.copytree(fleet.scratch.root, tmp_path / "elsewhere" / "second")
    return Scratch(tmp_path / "elsewhere" / "second", fleet.scratch.home, fleet.scratch.bin, fleet.env)


def started(project: Scratch) -> str:
    """Start a loop in the background and return its id once its agent works."""
    project.script(WORKING)
    assert project.ralph("Go", "--harness", "scripted", "--detach").returncode == 0
    log = project.state / "logs" / "0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())
    rows = json.loads(project.spool("ps", "--json").stdout)
    return next(str(row["id"]) for row in rows if row["worktree"] == str(project.root))


@pytest.mark.parametrize("words", [["stop", "2-1"], ["logs", "2-1"], ["attach", CHANGE], ["stop", "add-ralph"]])
def test_a_loop_of_another_project_is_not_meant(fleet: Fleet, other: Scratch, words: list[str]) -> None:
    running = started(other)
    done = fleet.scratch.spool(*words)
    assert done.returncode == 2
    assert f"no loop on '{words[1]}' in {fleet.scratch.root}" in done.stderr
    assert f"{running} ({other.root})" in done.stderr
    assert "--all-projects" in done.stderr
    assert len(fleet.rows()) == 1


def test_a_loop_with_a_similar_name_is_suggested(fleet: Fleet) -> None:
    started(fleet.scratch)
    done = fleet.scratch.spool("report", CHANGE.replace("ralph", "rlph"))
    assert done.returncode == 2
    assert f"did you mean: {CHANGE}?" in done.stderr


def test_of_two_loops_on_one_id_the_one_here_is_meant(fleet: Fleet, other: Scratch) -> None:
    there, here = started(other), started(fleet.scratch)
    done = fleet.scratch.spool("stop", "2-1")
    assert (done.returncode, done.stdout) == (0, f"Stopped {CHANGE} ({here}) in project on main.\n")
    assert [row["id"] for row in fleet.rows()] == [there]


def test_another_project_is_named_by_id_path_or_flag(fleet: Fleet, other: Scratch) -> None:
    running = started(other)
    logs = fleet.scratch.spool("logs", running)
    assert "Working hard" in logs.stdout
    assert logs.stderr == f"{CHANGE} ({running}) in second on main\n"
    assert "Working hard" in fleet.scratch.spool("logs", "2-1", "--path", str(other.root)).stdout
    done = fleet.scratch.spool("stop", "2-1", "--all-projects")
    assert (done.returncode, done.stdout) == (0, f"Stopped {CHANGE} ({running}) in second on main.\n")


def test_stop_all_leaves_other_projects_alone(fleet: Fleet, other: Scratch) -> None:
    there, _ = started(other), started(fleet.scratch)
    done = fleet.scratch.spool("stop", "--all")
    assert done.returncode == 0
    assert "In other projects: 1 loop; --all-projects stops them too." in done.stderr
    assert [row["id"] for row in fleet.rows()] == [there]
    assert fleet.scratch.spool("stop", "--all-projects").returncode == 0
    assert fleet.rows() == []


@pytest.mark.parametrize("words", [["status"], ["stop"], ["logs"], ["attach"], ["done"], ["history"], ["resume"]])
def test_wt_loop_means_no_loop_of_another_project(fleet: Fleet, other: Scratch, words: list[str]) -> None:
    tree = fleet.worktree("add-auth")
    tree.script(WORKING)
    tree.start()
    done = fleet.wt(*words, "add-auth", cwd=other.root)
    assert (done.returncode, "no loop on 'add-auth'" in done.stderr) == (2, True), done.stderr
    assert len(fleet.rows()) == 1


def test_create_takes_no_worktree_of_another_project(fleet: Fleet, other: Scratch) -> None:
    tree = fleet.worktree(CHANGE, tasks=None)
    (tree.path / "mine.txt").write_text("not committed\n")
    tree.script([{"promise": "COMPLETE"}])
    tree.run("--done", "promise")
    other.script(WORKING)
    done = fleet.wt("start", "2-1", *SCRIPTED, "--create", cwd=other.root)
    assert done.returncode == 0, done.stderr
    assert f"Created worktree {other.root.parent / f'second-wt-{CHANGE}'} on branch change/{CHANGE}." in done.stdout
    assert fleet.rows()[-1]["repository"] == str(other.root)


def test_a_folder_that_only_looks_like_a_worktree_is_left_alone(fleet: Fleet, tmp_path: Path) -> None:
    server = Scratch(tmp_path / "project-server", fleet.scratch.home, fleet.scratch.bin, fleet.env)
    shutil.copytree(fleet.scratch.root, server.root)
    done = fleet.wt("start", "server", "Go", *SCRIPTED, "--done", "manual")
    assert (done.returncode, "no worktree for 'server'" in done.stderr) == (2, True)


def test_a_short_id_is_no_branch_name(fleet: Fleet) -> None:
    fleet.scratch.script(WORKING)
    done = fleet.wt("start", "2-1", *SCRIPTED, "--create")
    assert done.returncode == 0, done.stderr
    assert f"on branch change/{CHANGE}." in done.stdout
    for words in (["status", "2-1"], ["logs", "add-ralph"], ["stop", "2-1"]):
        assert fleet.wt(*words).returncode == 0
    assert "change/2-1" not in fleet.scratch.git("branch")


def test_create_needs_a_change_or_a_criterion(fleet: Fleet) -> None:
    words = ("start", "nothing", "Go", *SCRIPTED, "--create")
    done = fleet.wt(*words)
    assert (done.returncode, "no such change: 'nothing'" in done.stderr) == (2, True)
    assert CHANGE in done.stderr
    assert "--done" in done.stderr
    assert "nothing" not in fleet.scratch.git("worktree", "list")
    fleet.scratch.script(WORKING)
    assert fleet.wt(*words, "--done", "manual").returncode == 0


def test_a_change_that_is_not_committed_travels_with_its_worktree(fleet: Fleet) -> None:
    scratch = fleet.scratch
    folder = scratch.root / ".spool" / "changes" / "003-01_new"
    shutil.copytree(scratch.change, folder)
    (scratch.change / "tasks.md").write_text("- [ ] 1.1 An edit that is not committed\n")
    scratch.script([{"tick": 9}], WORKING)
    for change, text in ((folder.name, None), (CHANGE, "An edit")):
        done = fleet.wt("start", change, *SCRIPTED, "--create")
        assert done.returncode == 0, done.stderr
        assert f"Copied {folder.parent / change}, which is not committed." in done.stdout
        made = Worktree(fleet, change, scratch.root.parent / f"project-wt-{change}")
        wait_for(lambda made=made: made.status_now() == "done")  # type: ignore[misc]
        assert made.state()["done_criteria"] == "tasks"
        assert text is None or text in (made.path / ".spool" / "changes" / change / "tasks.md").read_text()


def test_a_missing_agent_is_noticed_before_a_worktree_is_made(fleet: Fleet) -> None:
    fleet.env["PATH"] = f"{fleet.scratch.bin}:/usr/bin:/bin"
    done = fleet.wt("start", "2-1", "--terminal", "none", "--create")
    assert (done.returncode, "claude is not installed" in done.stderr) == (2, True)
    assert len(fleet.scratch.git("worktree", "list").splitlines()) == 1
    assert CHANGE not in fleet.scratch.git("branch")


def remove(fleet: Fleet, tree: Worktree) -> None:
    """Remove a worktree; git gives up if the loop writes a file into a folder that is just being emptied."""
    try:
        fleet.scratch.git("worktree", "remove", "--force", str(tree.path))
    except subprocess.CalledProcessError as error:
        assert "Directory not empty" in error.stderr
        shutil.rmtree(tree.path)


@pytest.mark.parametrize("anew", [False, True])
def test_a_loop_whose_worktree_is_removed_ends_and_says_so(fleet: Fleet, anew: bool) -> None:
    tree = fleet.worktree("add-auth")
    make = f"while test -e {tree.path}; do sleep 0.1; done; {f'mkdir -p {tree.path}/new; ' if anew else ''}sleep 60"
    tree.script([{"say": "Working"}, {"run": ["sh", "-c", make]}])
    tree.start()
    tree.wait_until_working()
    runner = tree.state()["runner"]["pid"]
    remove(fleet, tree)
    wait_for(lambda: is_gone(runner))
    (row,) = fleet.rows("--all")
    assert row["status"] == "stopped"
    assert row["reason"] == f"{tree.path} was removed while its loop was running"
    assert not (tree.path / ".spool").exists()
    assert not (tree.path / ".claude").exists()
