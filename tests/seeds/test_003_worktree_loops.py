"""Specification 003, loops in worktrees: one test per scenario, named after it, with real git worktrees."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support import Scratch, wait_for
from tests.support.worktrees import (
    SCREEN,
    WORKING,
    Display,
    Fleet,
    Worktree,
    display,
    fleet_of,
    is_gone,
    missing_programs,
)

MISSING = missing_programs("Xvfb", "xterm", "openbox", "xdotool", "xprop")
needs_a_screen = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
TICK: dict[str, Any] = {"tick": 1}


@pytest.fixture
def fleet(scratch: Scratch) -> Iterator[Fleet]:
    with fleet_of(scratch) as made:
        yield made


@pytest.fixture
def tree(fleet: Fleet) -> Worktree:
    return fleet.worktree("add-auth")


@pytest.fixture
def screen(fleet: Fleet) -> Iterator[Display]:
    with display(fleet.scratch.home) as opened:
        fleet.env["DISPLAY"] = opened.name
        yield opened


def commit(name: str) -> list[dict[str, Any]]:
    return [
        {"write": f"{name}.txt", "text": name},
        {"run": ["git", "add", "--all"]},
        {"run": ["git", "commit", "--quiet", "--message", name]},
    ]


# Requirement: Ralph Loop Management


@needs_a_screen
def test_start_a_new_loop(tree: Worktree, screen: Display) -> None:
    tree.script(WORKING)
    said = tree.start(terminal="xterm")
    assert "in a new xterm window" in said
    tree.wait_until_working()
    assert tree.state()["status"] == "running"
    window = screen.window_of(tree.pid_file())
    assert screen.property(window, "_NET_WM_PID").endswith(f" = {tree.pid_file()}")
    wait_for(lambda: "add-auth · iteration 1" in screen.property(window, "_NET_WM_NAME"))
    assert tree.state()["terminal_pid"] == tree.pid_file()
    assert os.readlink(f"/proc/{tree.pid_file()}/exe").endswith("/xterm")
    assert tree.status() == ""


def test_start_with_options(tree: Worktree) -> None:
    tree.script([{"append": "notes.txt", "text": "more"}])
    state = tree.run("--max", "10", "--done", "tasks")
    assert (state["max_iterations"], state["done_criteria"]) == (10, "tasks")
    assert (state["status"], state["current_iteration"]) == ("stuck", 10)
    assert [one["done_check"] for one in state["iterations"]] == [False] * 10
    tree.script([TICK], [TICK])
    state = tree.run("--max", "10", "--done", "tasks")
    assert (state["status"], state["current_iteration"]) == ("done", 2)


@needs_a_screen
@pytest.mark.parametrize("how", ["flag", "config"])
def test_start_with_fullscreen_terminal(tree: Worktree, screen: Display, how: str) -> None:
    tree.script(WORKING)
    if how == "config":
        settings = Path(tree.fleet.env["XDG_CONFIG_HOME"]) / "spool"
        settings.mkdir(parents=True)
        (settings / "config.toml").write_text("fullscreen = true\n")
    tree.start(*(["--fullscreen"] if how == "flag" else []), terminal="xterm")
    window = screen.window_of(tree.pid_file())
    wait_for(lambda: "_NET_WM_STATE_FULLSCREEN" in screen.property(window, "_NET_WM_STATE"))
    wait_for(lambda: screen.size(window) == SCREEN)


def test_check_loop_status(tree: Worktree) -> None:
    usage = {"usage": {"tokens_in": 1200, "tokens_out": 300, "cost_usd": 0.25}}
    tree.script([TICK, usage], WORKING)
    tree.start("--max", "7", "--max-cost", "5")
    tree.wait_until_working(2)
    told = tree.fleet.wt("status", "add-auth").stdout
    assert re.search(r"^Status +running$", told, re.MULTILINE)
    assert re.search(r"^Iteration 2$", told, re.MULTILINE)
    assert re.search(r"^Capacity +2 of 7 iterations, 1\.5k tokens, \$0\.25 of \$5\.00$", told, re.MULTILINE)
    assert re.search(r"^Now +agent is working, for ", told, re.MULTILINE)
    assert re.search(r"^1 +finished .*no +1\.5k +\$0\.25 +1 of 2 boxes", told, re.MULTILINE)
    assert tree.fleet.wt("status", cwd=tree.folder).stdout.splitlines()[:2] == told.splitlines()[:2]
    tree.fleet.wt("stop", "add-auth")
    after = json.loads(tree.fleet.wt("status", "add-auth", "--json").stdout)
    assert (after["status"], after["phase"]) == ("stopped", None)
    assert after["capacity"]["iterations"] == 2
    for status, steps in (("done", [TICK, TICK]), ("stuck", [{"say": "Hm"}])):
        tree.git("checkout", "--quiet", "--", ".")
        tree.script(steps)
        tree.run("--max", "2")
        assert re.search(rf"^Status +{status}: ", tree.fleet.wt("status", "add-auth").stdout, re.MULTILINE)


def test_stop_a_running_loop(tree: Worktree) -> None:
    tree.script(WORKING)
    tree.start()
    tree.wait_until_working()
    runner = tree.state()["runner"]["pid"]
    done = tree.fleet.wt("stop", "add-auth")
    assert (done.returncode, done.stdout.startswith("Stopped add-auth")) == (0, True)
    assert is_gone(runner)
    state = tree.state()
    assert state["status"] == "stopped"
    assert state["iterations"][0]["exit_reason"] == "interrupted"
    again = tree.fleet.wt("stop", "add-auth")
    assert (again.returncode, "is not running: stopped" in again.stdout) == (0, True)


def test_list_all_active_loops(fleet: Fleet, tmp_path: Path) -> None:
    # A second project, with its own repository, and a loop of another command there.
    shutil.copytree(fleet.scratch.root, tmp_path / "second", symlinks=True)
    first = fleet.worktree("add-auth")
    first.script(WORKING)
    first.start("--max", "4")
    other = Scratch(tmp_path / "second", fleet.scratch.home, fleet.scratch.bin, fleet.env)
    other.script(WORKING)
    assert other.ralph("Go", "--harness", "scripted", "--detach").returncode == 0
    first.wait_until_working()
    wait_for(lambda: (other.state / "logs" / "0001.out").exists())
    told = fleet.wt("list", cwd=tmp_path).stdout
    assert re.search(r"wt-loop +project +add-auth +running +1/4 ", told)
    assert re.search(rf"ralph +second +{other.change.name} +running +1/50 ", told)
    assert {(row["project"], row["change"], row["status"], row["iteration"]) for row in fleet.rows()} == {
        ("project", "add-auth", "running", 1),
        ("second", other.change.name, "running", 1),
    }


# Requirement: Loop State File


def test_state_file_structure(tree: Worktree) -> None:
    tree.script([TICK], WORKING)
    tree.start("--max", "5", task="Implement the login form")
    tree.wait_until_working(2)
    state = tree.state()
    assert state["change_id"] == "add-auth"
    assert state["task"] == "Implement the login form"
    assert state["done_criteria"] == "tasks"
    assert (state["max_iterations"], state["current_iteration"]) == (5, 2)
    assert state["status"] == "running"
    assert state["terminal_pid"] == tree.pid_file() == state["runner"]["pid"]
    assert datetime.fromisoformat(state["started_at"]).tzinfo is not None
    assert [one["n"] for one in state["iterations"]] == [1]


def test_iteration_tracking(tree: Worktree) -> None:
    tree.script(
        [*commit("one"), *commit("two")],
        [{"say": "Nothing"}, {"exit": 7}],
        [*commit("three"), {"tick": 2}, {"usage": {"tokens_in": 10, "tokens_out": 5, "cost_usd": 0.5}}],
    )
    first, second, third = tree.run()["iterations"]
    made = tree.git("log", "--reverse", "--format=%H", "-3").split()
    assert [first["n"], second["n"], third["n"]] == [1, 2, 3]
    assert (first["commits"], second["commits"], third["commits"]) == (made[:2], [], made[2:])
    assert [one["exit_reason"] for one in (first, second, third)] == ["finished", "harness error", "finished"]
    assert [one["done_check"] for one in (first, second, third)] == [False, False, True]
    assert (third["tokens"], third["cost"]) == (15, 0.5)
    for one in (first, second, third):
        assert datetime.fromisoformat(one["started"]) < datetime.fromisoformat(one["ended"])


# Requirement: Done Detection


def test_tasks_md_completion(tree: Worktree) -> None:
    other = tree.folder.parent / "another"
    other.mkdir()
    (other / "tasks.md").write_text("- [ ] 1.1 Not part of this change\n")
    tree.script([TICK], [{"promise": "COMPLETE"}], [TICK])
    state = tree.run()
    assert (state["status"], state["current_iteration"]) == ("done", 3)
    assert [one["done_reason"] for one in state["iterations"]] == [
        "1 of 2 boxes are ticked", "1 of 2 boxes are ticked", "2 of 2 boxes are ticked",
    ]  # fmt: skip


def test_manual_done(fleet: Fleet) -> None:
    tree = fleet.worktree("explore", tasks=None)
    tree.script(*[[{"promise": "COMPLETE"}]] * 12, WORKING)
    tree.start()
    tree.wait_until_working(13)
    state = tree.state()
    assert (state["done_criteria"], state["max_iterations"], state["status"]) == ("manual", None, "running")
    assert not any(one["done_check"] for one in state["iterations"])
    fleet.wt("stop", "explore")
    assert tree.state()["status"] == "stopped"


# Requirement: Loop Output Logging


@needs_a_screen
def test_log_file_creation(tree: Worktree, screen: Display) -> None:
    tree.script([{"say": "The first words"}, TICK], WORKING)
    tree.start(terminal="xterm")
    tree.wait_until_working(2)
    wait_for(lambda: "Working hard" in tree.log.read_text())
    assert "The first words" in tree.log.read_text()
    screen.close(screen.window_of(tree.pid_file()))
    wait_for(lambda: tree.state()["status"] == "stopped")
    wait_for(lambda: is_gone(tree.state()["runner"]["pid"]))
    log = tree.log.read_text()
    assert "stopping (a closed terminal)" in log
    assert "wt-loop resume add-auth" in log
    assert tree.status() == f" M openspec/changes/{tree.change}/tasks.md\n"


@pytest.mark.parametrize("terminal", ["none", pytest.param("xterm", marks=needs_a_screen)])
def test_view_log_after_completion(tree: Worktree, terminal: str, request: pytest.FixtureRequest) -> None:
    if terminal == "xterm":
        request.getfixturevalue("screen")
    tree.script(
        [{"say": "Iteration one speaks"}, {"stderr": "a raw complaint\n"}, TICK],
        [{"say": "Iteration two speaks"}, {"write": "form.py", "text": "x"}],
        [{"say": "Iteration three speaks"}, TICK],
    )
    state = tree.run("--close", terminal=terminal)
    wait_for(lambda: is_gone(state["runner"]["pid"]), "the last lines of the log")
    log = tree.fleet.wt("logs", "add-auth").stdout
    assert log == tree.log.read_text()
    words = [
        "one speaks",
        "iteration 1:",
        "two speaks",
        "> write form.py",
        "iteration 2:",
        "three speaks",
        "done: 2 of 2",
    ]
    assert [log.index(word) for word in words] == sorted(log.index(word) for word in words)
    assert "Iteration two speaks" in (tree.raw_logs / "0002.out").read_text()
    assert (tree.raw_logs / "0001.err").read_text() == "a raw complaint\n"
