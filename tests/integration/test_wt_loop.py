"""Loops in worktrees beyond the scenarios: how they end, resume, are found, and how many run at once."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support import PATIENCE_S, Scratch, make_scratch, wait_for
from tests.support.worktrees import WORKING, Fleet, Worktree, fleet_of, is_gone, processes_of

TICK: dict[str, Any] = {"tick": 1}
HOSTILE = """a"$(touch P)'b #(touch P)"""
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture
def fleet(scratch: Scratch) -> Iterator[Fleet]:
    with fleet_of(scratch) as made:
        yield made


@pytest.fixture
def tree(fleet: Fleet) -> Worktree:
    return fleet.worktree("add-auth")


@pytest.fixture
def tmux(fleet: Fleet) -> Iterator[Fleet]:
    """A tmux server of our own."""
    fleet.env["TMUX_TMPDIR"] = str(fleet.scratch.home)
    yield fleet
    subprocess.run(["tmux", "kill-server"], env=fleet.env, check=False, capture_output=True)


# How a loop ends


def test_no_progress_is_stuck(tree: Worktree) -> None:
    tree.script([{"say": "I think."}, {"write": "a.txt", "text": "x"}], [{"say": "I only talk."}])
    state = tree.run("--stall", "2")
    assert (state["status"], state["reason"]) == ("stuck", "no progress in 2 iterations in a row")
    assert [one["progress"] for one in state["iterations"]] == [True, False, False]


def test_a_command_decides(tree: Worktree) -> None:
    tree.script([{"write": "a.txt", "text": "x"}], [{"write": "b.txt", "text": "x"}])
    state = tree.run("--done-command", "test -e a.txt && test -e b.txt")
    assert (state["status"], state["done_criteria"], state["current_iteration"]) == ("done", "command", 2)
    assert state["iterations"][0]["done_reason"] == "'test -e a.txt && test -e b.txt' exited with code 1"


def test_a_command_that_the_agent_rewrote_decides_nothing(tree: Worktree) -> None:
    (tree.path / "check.sh").write_text("test -e made.txt\n")
    tree.git("add", "check.sh")
    tree.git("commit", "--quiet", "--message", "a check")
    tree.script([{"write": "check.sh", "text": "exit 0"}], [{"write": "made.txt", "text": "x"}])
    state = tree.run("--done-command", "sh check.sh", "--max", "2")
    assert "passes only with the edited check.sh" in state["iterations"][0]["done_reason"]
    assert (state["status"], state["current_iteration"]) == ("done", 2)


def test_other_checks_run_once_the_command_is_green(tree: Worktree) -> None:
    ran = tree.fleet.scratch.home / "ran"
    tree.script([{"write": "a.txt", "text": "x"}], [{"write": "b.txt", "text": "x"}])
    verify = ("--verify", f"echo $SPOOL_GATE >> {ran}")
    state = tree.run("--done-command", "test -e b.txt", *verify)
    assert (state["status"], state["current_iteration"]) == ("done", 2)
    assert len(ran.read_text().splitlines()) == 2  # before the first agent, and at the claim


def test_a_promise_decides(tree: Worktree) -> None:
    tree.script([{"write": "a.txt"}], [{"promise": "COMPLETE"}])
    state = tree.run("--done", "promise")
    assert (state["status"], state["current_iteration"]) == ("done", 2)
    prompt = (tree.raw_logs / "0001.prompt.md").read_text()
    assert "<promise>COMPLETE</promise>" in prompt
    assert "Implement the login form" in prompt
    assert "People can log in." in prompt


def test_a_budget_ends_it(tree: Worktree) -> None:
    tree.script([{"append": "a.txt", "text": "x"}, {"usage": {"cost_usd": 0.3}}])
    state = tree.run("--max-cost", "0.5")
    assert (state["status"], state["reason"]) == ("stuck", "the budget of $0.50 is used up")
    assert state["cost"] == pytest.approx(0.6)


def test_a_wrong_budget_is_told_by_the_flag_that_was_typed(tree: Worktree) -> None:
    done = tree.fleet.wt("start", tree.change, "--harness", "scripted", "--max-cost", "-1")
    assert (done.returncode, done.stderr) == (2, "wt-loop: --max-cost cannot be negative\n")


def test_all_boxes_ticked_before_the_start_needs_no_agent(tree: Worktree) -> None:
    tree.tasks.write_text("- [x] 1.1 Done\n")
    tree.script([{"exit": 3}])
    state = tree.run()
    assert (state["status"], state["current_iteration"], state["iterations"]) == ("done", 0, [])


def test_without_a_change_folder_a_task_list_at_the_top_decides(fleet: Fleet) -> None:
    tree = fleet.worktree("quick-fix", tasks=None)
    (tree.path / "tasks.md").write_text("- [ ] Mend it\n")
    tree.script([{"write": "a.txt"}], [TICK])
    state = tree.run()
    assert (state["done_criteria"], state["status"], state["current_iteration"]) == ("tasks", "done", 2)


def test_without_any_task_list_tasks_are_never_done(fleet: Fleet) -> None:
    tree = fleet.worktree("quick-fix", tasks=None)
    tree.script([{"append": "a.txt", "text": "x"}, {"promise": "COMPLETE"}])
    state = tree.run("--done", "tasks", "--max", "2")
    assert (state["status"], state["reason"]) == ("stuck", "the limit of 2 iterations is reached")
    assert state["iterations"][0]["done_reason"] == "no tasks.md"


def test_done_by_hand_after_the_iteration_and_at_once(fleet: Fleet) -> None:
    tree = fleet.worktree("explore", tasks=None)
    go = fleet.scratch.home / "go"
    tree.script([{"say": "Working"}, {"run": ["sh", "-c", f"while ! test -e {go}; do sleep 0.05; done"]}])
    tree.start()
    tree.wait_until_working()
    assert "after this iteration" in fleet.wt("done", "explore").stdout
    go.touch()
    wait_for(lambda: tree.state()["status"] == "done")
    assert tree.state()["reason"] == "marked as done by a person"
    go.unlink()
    tree.start()
    tree.wait_until_working()
    done = fleet.wt("done", "explore", "--now")
    assert done.returncode == 0, done.stderr
    assert tree.state()["status"] == "done"
    assert fleet.rows("--all")[-1]["status"] == "done"


def test_what_is_called_done_stays_done_when_it_is_stopped(tree: Worktree) -> None:
    tree.script(WORKING)
    tree.start()
    tree.wait_until_working()
    assert "after this iteration" in tree.fleet.wt("done", "add-auth").stdout
    for _ in range(2):
        assert tree.fleet.wt("stop", "add-auth").returncode == 0
        assert (tree.state()["status"], tree.state()["reason"]) == ("done", "marked as done by a person")
        assert tree.fleet.rows("--all")[-1]["status"] == "done"


# Resume, history, and what survives


def test_resume_goes_on_and_keeps_what_was_asked_for(tree: Worktree) -> None:
    tree.script([TICK], WORKING, [TICK])
    tree.start("--max", "7")
    tree.wait_until_working(2)
    tree.fleet.wt("stop", "add-auth")
    done = tree.fleet.wt("resume", "add-auth", "--terminal", "none")
    assert done.returncode == 0, done.stderr
    wait_for(lambda: tree.state()["status"] == "done")
    state = tree.state()
    assert (state["task"], state["max_iterations"], state["harness"]) == ("Implement the login form", 7, "scripted")
    assert [one["n"] for one in state["iterations"]] == [1, 2, 3]
    assert [one["exit_reason"] for one in state["iterations"]] == ["finished", "interrupted", "finished"]
    assert state["iterations"][0]["done_reason"] == "1 of 2 boxes are ticked"
    history = json.loads(tree.fleet.wt("history", "add-auth", "--json").stdout)
    assert history == state["iterations"]
    log = tree.log.read_text()
    assert log.count("with scripted") == 2
    tree.run("--max", "1")
    assert tree.state()["iterations"] == []
    assert tree.log.with_name("ralph-loop.log.1").read_text() == log


def test_commits_of_an_iteration_that_was_stopped_are_told(tree: Worktree) -> None:
    commit = {"run": ["git", "commit", "--quiet", "--allow-empty", "--message", "half"]}
    tree.script([commit, *WORKING])
    tree.start()
    tree.wait_until_working()
    tree.fleet.wt("stop", "add-auth")
    (only,) = tree.state()["iterations"]
    assert only["commits"] == [tree.git("rev-parse", "HEAD").strip()]


def test_a_runner_that_was_killed_is_shown_as_stopped_by_every_reader(tree: Worktree) -> None:
    tree.script(WORKING, [TICK, TICK])
    tree.start()
    tree.wait_until_working()
    os.kill(tree.state()["runner"]["pid"], signal.SIGKILL)
    wait_for(lambda: not tree.fleet.rows())
    assert (tree.state()["status"], tree.state()["current_iteration"]) == ("stopped", 1)  # the list has looked
    assert "stopped: its runner died" in tree.fleet.wt("status", "add-auth").stdout
    assert "its runner died" in tree.fleet.wt("list", "--all").stdout
    assert "its runner died" in tree.fleet.scratch.spool("ps", "--all").stdout
    assert tree.fleet.wt("stop", "add-auth").returncode == 0
    assert tree.state()["status"] == "stopped"
    tree.fleet.wt("resume", "add-auth", "--terminal", "none")
    wait_for(lambda: tree.state()["status"] == "done")
    assert [one["exit_reason"] for one in tree.state()["iterations"]] == ["interrupted", "finished"]


@pytest.mark.parametrize("look", ["ps", "list", "status"])
def test_the_loop_file_of_a_killed_runner_says_so_as_soon_as_anything_looks_at_it(tree: Worktree, look: str) -> None:
    tree.script(WORKING)
    tree.start()
    tree.wait_until_working()
    runner = tree.state()["runner"]["pid"]
    os.kill(runner, signal.SIGKILL)
    wait_for(lambda: is_gone(runner))
    assert tree.state()["status"] == "running"
    looks = {
        "ps": lambda: tree.fleet.scratch.spool("ps"),
        "list": lambda: tree.fleet.wt("list"),
        "status": lambda: tree.fleet.wt("status", "add-auth"),
    }
    assert looks[look]().returncode == 0
    state = tree.state()
    assert (state["status"], state["current_iteration"]) == ("stopped", 1)
    assert state["reason"].startswith("its runner died")


def test_what_the_agent_writes_to_standard_error_is_in_the_log_and_marked(tree: Worktree) -> None:
    tree.script([{"say": "Hello."}, {"stderr": "warning: old\nand \u001b[31mred"}, TICK, TICK])
    tree.run()
    lines = tree.log.read_text().splitlines()
    at = lines.index("stderr: warning: old")
    assert lines[at + 1] == "stderr: and red"
    assert lines.index("Hello.") < at


def test_the_pid_that_the_start_prints_is_that_of_the_window_in_the_file(tree: Worktree) -> None:
    tree.fleet.scratch.agent("import subprocess, sys\nsys.exit(subprocess.call(sys.argv[1:]))", name="window")
    settings = Path(tree.fleet.env["XDG_CONFIG_HOME"]) / "spool"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('terminal = ["window", "{command}"]\n')
    tree.script(WORKING)
    done = tree.fleet.wt("start", "add-auth", "Go", "--harness", "scripted")
    assert f"(pid {tree.pid_file()})" in done.stdout, done.stdout
    assert tree.state()["terminal_pid"] == tree.pid_file() != tree.state()["runner"]["pid"]


def test_a_list_whose_boxes_the_agent_ticked_itself_ends_on_its_word(tree: Worktree) -> None:
    tree.script([TICK, TICK])
    done = tree.fleet.wt("start", "add-auth", "Go", "--harness", "scripted", "--terminal", "none")
    assert done.stderr == "wt-loop: nothing will be checked: --verify CMD, or spool init\n"
    wait_for(lambda: tree.status_now() == "done")
    said = "done on the agent's word: tasks: 2 of 2 boxes are ticked; no test was run; --verify CMD checks"
    assert f"Checked   {said}" in tree.fleet.wt("status", "add-auth").stdout
    assert "on the agent's word: 2 of 2 boxes are ticked" in tree.fleet.wt("list", "--all").stdout
    assert "--- nothing will be checked: --verify CMD, or spool init" in tree.log.read_text()


def test_settings_of_the_main_checkout_hold_in_its_worktrees(fleet: Fleet) -> None:
    fleet.env["SPOOL_TRUSTED_PATHS"] = ""
    config = fleet.scratch.root / ".spool" / "config.toml"
    config.write_text('fullscreen = true\nworktree_setup = "true"\nmax_iterations = 7\n')  # not committed
    fleet.scratch.trust()
    tree = fleet.worktree("add-auth")
    assert not (tree.path / ".spool" / "config.toml").exists()
    shown = json.loads(fleet.scratch.spool("config", "--json", cwd=tree.path).stdout)
    assert (shown["fullscreen"]["value"], shown["fullscreen"]["origin"]) == (True, str(config))
    (tree.path / ".spool").mkdir(exist_ok=True)
    (tree.path / ".spool" / "config.toml").write_text("max_iterations = 3\n")
    shown = json.loads(fleet.scratch.spool("config", "--json", cwd=tree.path).stdout)
    assert (shown["max_iterations"]["value"], shown["fullscreen"]["value"]) == (3, True)
    config.write_text('worktree_setup = "false"\n')  # what nobody trusted does not count there either
    refused = fleet.wt("start", "add-auth", "Go", "--harness", "scripted", "--terminal", "none")
    assert refused.returncode == 2
    assert "settings that you have not trusted: worktree_setup" in refused.stderr


def test_what_an_agent_cleans_away_comes_back(tree: Worktree) -> None:
    tree.script([{"say": "Before"}, {"run": ["git", "clean", "-fdxq"]}, TICK], [{"say": "After"}, TICK])
    state = tree.run()
    assert [one["n"] for one in state["iterations"]] == [1, 2]
    assert [one["done_check"] for one in state["iterations"]] == [False, True]
    wait_for(lambda: "done: " in tree.log.read_text())
    assert "Before" in tree.log.read_text()
    tree.git("clean", "-fdxq", "--exclude=.claude")
    tree.tasks.write_text("- [ ] 1.1 One more\n")
    assert tree.fleet.wt("resume", "add-auth").returncode == 0
    wait_for(lambda: tree.state()["current_iteration"] == 3 and tree.status_now() == "done")


def test_nothing_dirties_git_and_what_is_written_fits_its_schema(tree: Worktree) -> None:
    tree.script(WORKING)
    before = tree.git("ls-files"), (tree.path / ".gitignore").exists()
    tree.start()
    tree.wait_until_working()
    assert tree.status() == ""
    assert (tree.git("ls-files"), (tree.path / ".gitignore").exists()) == before
    jsonschema.validate(tree.state(), json.loads((SCHEMAS / "loop-state.schema.json").read_text()))
    told = json.loads(tree.fleet.wt("status", "add-auth", "--json").stdout)
    jsonschema.validate(told, json.loads((SCHEMAS / "status.schema.json").read_text()))
    jsonschema.validate(tree.fleet.rows(), json.loads((SCHEMAS / "loops.schema.json").read_text()))
    for path in (tree.path / ".claude").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_second_loop_in_the_worktree_names_the_first(tree: Worktree) -> None:
    tree.script(WORKING)
    tree.start()
    tree.wait_until_working()
    words = ["Go", "--harness", "scripted", "--terminal", "none"]
    second = tree.fleet.wt("start", "add-auth", *words)
    assert second.returncode == 1
    assert f"pid {tree.state()['runner']['pid']}" in second.stderr
    assert "wt-loop stop add-auth" in second.stderr
    other = tree.fleet.wt("start", "other", *words, "--path", str(tree.path))
    assert (other.returncode, "a loop on 'add-auth' is already running" in other.stderr) == (1, True)
    assert tree.state()["status"] == "running"


def test_of_two_starts_at_once_one_wins(tree: Worktree) -> None:
    tree.script(WORKING)
    for _ in range(3):
        both = [begin(tree) for _ in range(2)]
        said = [process.communicate(timeout=PATIENCE_S)[1].decode() for process in both]
        assert sorted(process.returncode for process in both) == [0, 1], said
        assert "a loop on 'add-auth' is already running in" in "".join(said)
        assert len(tree.fleet.rows()) == 1
        tree.wait_until_working()
        assert tree.fleet.wt("stop", "add-auth").returncode == 0
        assert tree.state()["status"] == "stopped"


def begin(tree: Worktree) -> subprocess.Popen[bytes]:
    """Begin a start in the background, and return at once."""
    words = ["start", tree.change, "Go", "--harness", "scripted", "--terminal", "none"]
    return tree.fleet.scratch.start(argv=tree.fleet.scratch.wt_argv(*words), stderr=subprocess.PIPE)


# Which worktree is meant


def test_more_than_one_candidate_is_an_error_that_lists_them(fleet: Fleet) -> None:
    first = fleet.worktree("add-auth")
    second = fleet.worktree("other", name="project-add-auth")
    done = fleet.wt("start", "add-auth", "Go", "--terminal", "none")
    assert done.returncode == 2
    assert str(first.path) in done.stderr
    assert str(second.path) in done.stderr
    assert "--path" in done.stderr


def test_without_a_worktree_the_error_says_how_to_get_one(fleet: Fleet) -> None:
    done = fleet.wt("start", "nowhere", "Go")
    assert done.returncode == 2
    assert "git worktree add ../project-wt-nowhere -b change/nowhere" in done.stderr
    assert "--create" in done.stderr


def test_create_makes_the_worktree(fleet: Fleet) -> None:
    scratch = fleet.scratch
    (scratch.root / ".gitignore").write_text(".env*\n")
    (scratch.root / ".env.local").write_text("KEY=1\n")
    scratch.script([{"promise": "COMPLETE"}])
    (scratch.root / ".spool" / "config.toml").write_text('worktree_setup = "echo ready > setup.txt"\n')
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "config")
    scratch.git("branch", "feature/known")
    words = ["Go", "--create", "--harness", "scripted", "--terminal", "none", "--done", "promise"]
    for change, branch in (("fresh", "change/fresh"), ("known", "feature/known")):
        done = fleet.wt("start", change, *words)
        assert done.returncode == 0, done.stderr
        made = Worktree(fleet, change, scratch.root.parent / f"project-wt-{change}")
        assert made.git("branch", "--show-current").strip() == branch
        assert (made.path / ".env.local").read_text() == "KEY=1\n"
        assert (made.path / "setup.txt").read_text() == "ready\n"
        wait_for(lambda made=made: made.state()["status"] == "done")  # type: ignore[misc]


def test_a_worktree_of_a_known_project_is_found_from_anywhere(fleet: Fleet) -> None:
    tree = fleet.worktree("add-auth")
    odd = fleet.worktree("odd", name="somewhere-else")
    file = Path(fleet.env["XDG_CONFIG_HOME"]) / "wt-tools" / "projects.json"
    file.parent.mkdir(parents=True)
    known = {"path": str(fleet.scratch.root), "worktrees": {"pet-name": {"path": str(odd.path), "branch": "x"}}}
    file.write_text(json.dumps({"projects": {"project": known}}))
    for made, name in ((tree, "add-auth"), (odd, "pet-name")):
        made.script([{"promise": "COMPLETE"}])
        words = ["start", name, "Go", "--harness", "scripted", "--terminal", "none", "--done", "promise"]
        refused = fleet.wt(*words, cwd=fleet.scratch.home)
        assert (refused.returncode, f"no worktree for '{name}'" in refused.stderr) == (2, True)
        done = fleet.wt(*words, "--all-projects", cwd=fleet.scratch.home)
        assert done.returncode == 0, done.stderr
        wait_for(lambda made=made: made.state()["status"] == "done")  # type: ignore[misc]


@pytest.mark.parametrize("change", ["..", "a/b", "", "-rf", HOSTILE, "x" * 300, "a\nb"])
def test_an_id_that_is_none_is_refused_before_anything_happens(fleet: Fleet, change: str) -> None:
    before = sorted(fleet.scratch.root.parent.rglob("*"))
    done = fleet.wt("start", "--create", "--", change, "Go")
    assert done.returncode == 2
    assert "is not a change id" in done.stderr
    assert sorted(fleet.scratch.root.parent.rglob("*")) == before


def test_a_claude_folder_that_leads_elsewhere_is_refused(tree: Worktree, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tree.path / ".claude").symlink_to(elsewhere)
    done = tree.fleet.wt("start", "add-auth", "Go", "--terminal", "none")
    assert (done.returncode, "is a link" in done.stderr) == (2, True)
    assert list(elsewhere.iterdir()) == []


def test_claude_is_the_default_agent_and_a_missing_one_is_told_at_once(tree: Worktree) -> None:
    tree.fleet.env["PATH"] = f"{tree.fleet.scratch.bin}:/usr/bin:/bin"
    done = tree.fleet.wt("start", "add-auth", "Go", "--terminal", "none")
    assert (done.returncode, "claude is not installed" in done.stderr) == (2, True)
    tree.fleet.scratch.agent("import sys\nprint(sys.argv[1:])", name="claude")
    done = tree.fleet.wt("start", "add-auth", "Go", "--terminal", "none", "--max", "1")
    assert done.returncode == 0, done.stderr
    wait_for(lambda: tree.state()["status"] == "stuck")
    assert tree.state()["harness"] == "claude"


# Terminals


@needs_tmux
def test_a_tmux_session_and_its_end(tmux: Fleet) -> None:
    tree = tmux.worktree("v1.2-auth", name=HOSTILE)
    tree.script([{"say": "The first words"}, TICK], WORKING)
    task = f"Do {HOSTILE}"
    said = tree.start(terminal="tmux", task=task)
    tree.wait_until_working(2)
    session = tree.state()["terminal"].removeprefix("tmux:")
    assert f"tmux attach -t {session}" in said
    ask = ["tmux", "display-message", "-p", "-t", f"={session}:", "#{pane_pid} #{pane_title}"]
    wait_for(lambda: "iteration 2" in subprocess.run(ask, env=tmux.env, capture_output=True, text=True).stdout)
    pane, _, title = subprocess.run(ask, env=tmux.env, capture_output=True, text=True).stdout.partition(" ")
    assert int(pane) == tree.pid_file() == tree.state()["terminal_pid"]
    assert title.strip() == "v1.2-auth · iteration 2"
    assert tree.state()["task"] == task
    subprocess.run(["tmux", "kill-session", "-t", f"={session}"], env=tmux.env, check=True)
    wait_for(lambda: tree.state()["status"] == "stopped")
    wait_for(lambda: is_gone(int(pane)))
    assert "The first words" in tree.log.read_text()
    assert "stopping (a closed terminal)" in tree.log.read_text()
    assert not list(tmux.scratch.root.parent.rglob("P"))


@needs_tmux
def test_a_window_stays_open_until_somebody_closes_it(tmux: Fleet) -> None:
    tree = tmux.worktree("add-auth")
    tree.script([TICK, TICK])
    state = tree.run(terminal="tmux")
    session = state["terminal"].removeprefix("tmux:")
    show = ["tmux", "capture-pane", "-p", "-t", f"={session}:"]
    wait_for(lambda: "Enter to close" in subprocess.run(show, env=tmux.env, capture_output=True, text=True).stdout)
    assert tree.fleet.rows() == []
    tree.fleet.wt("stop", "--all")
    assert is_gone(state["runner"]["pid"])
    assert tree.state()["status"] == "done"


def test_without_a_desktop_and_tmux_it_runs_in_the_background_and_says_so(tree: Worktree) -> None:
    for name in ("git", "sh"):
        (tree.fleet.scratch.bin / name).symlink_to(shutil.which(name) or name)
    tree.fleet.env["PATH"] = str(tree.fleet.scratch.bin)
    tree.script(WORKING)
    done = tree.fleet.wt("start", "add-auth", "Go", "--harness", "scripted")
    assert done.returncode == 0, done.stderr
    assert "in the background" in done.stdout
    assert "wt-loop attach add-auth" in done.stdout


def test_a_terminal_that_fails_is_followed_by_the_next(tree: Worktree) -> None:
    tree.fleet.scratch.agent("import sys\nsys.exit('no display here')", name="kitty")
    for name in ("git", "sh"):
        (tree.fleet.scratch.bin / name).symlink_to(shutil.which(name) or name)
    tree.fleet.env.update({"PATH": str(tree.fleet.scratch.bin), "DISPLAY": ":99"})
    tree.script(WORKING)
    done = tree.fleet.wt("start", "add-auth", "Go", "--harness", "scripted")
    assert done.returncode == 0, done.stderr
    assert "cannot open kitty: no display here" in done.stderr
    assert "in the background" in done.stdout


def test_a_terminal_of_the_users_own(tree: Worktree) -> None:
    tree.fleet.scratch.agent("import os, sys\nos.execv(sys.argv[2], sys.argv[2:])", name="my term")
    settings = Path(tree.fleet.env["XDG_CONFIG_HOME"]) / "spool"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('terminal = ["my term", "{title}", "{command}"]\n')
    tree.script([TICK, TICK])
    done = tree.fleet.wt("start", "add-auth", "Go", "--harness", "scripted")
    assert done.returncode == 0, done.stderr
    assert "in a new my term window" in done.stdout
    wait_for(lambda: tree.state()["status"] == "done")


def test_hostile_paths_reach_the_loop_unharmed(tmp_path: Path) -> None:
    base = tmp_path / HOSTILE
    base.mkdir()
    with fleet_of(make_scratch(base)) as fleet:
        tree = fleet.worktree("add-auth", name=HOSTILE)
        tree.script([TICK, TICK])
        assert tree.run(task=HOSTILE)["status"] == "done"
        assert HOSTILE in (tree.raw_logs / "0001.prompt.md").read_text()
    assert not list(tmp_path.rglob("P"))


def test_no_ticket_with_its_environment_stays_behind(tree: Worktree) -> None:
    tree.script([TICK, TICK])
    tree.fleet.env["SECRET"] = "a key of the user's"
    tree.run()
    for path in (tree.fleet.scratch.home / "state").rglob("*"):
        assert not path.is_file() or b"a key of the user" not in path.read_bytes()


# Many at once


@pytest.mark.long
def test_ten_loops_at_once(fleet: Fleet) -> None:
    trees = [fleet.worktree(f"change-{number}") for number in range(10)]
    for tree in trees:
        tree.script([TICK], WORKING)
    starting = [begin(tree) for tree in trees]
    seen = 0
    while any(process.poll() is None for process in starting):
        rows = fleet.rows()
        assert len(rows) >= seen
        assert {row["status"] for row in rows} <= {"running"}
        seen = len(rows)
    for process in starting:
        assert process.wait() == 0, process.stderr and process.stderr.read()
    for tree in trees:
        wait_for(lambda tree=tree: tree.is_working(2))  # type: ignore[misc]
    rows = fleet.rows()
    assert sorted(row["change"] for row in rows) == sorted(tree.change for tree in trees)
    assert {(row["status"], row["run_iteration"], row["max_iterations"]) for row in rows} == {("running", 2, 10)}
    assert len({row["worktree"] for row in rows}) == 10
    run_ids = {row["run_id"] for row in rows}
    assert len(processes_of(run_ids)) >= 10
    assert fleet.wt("stop", "--all", timeout=PATIENCE_S).returncode == 0
    assert fleet.rows() == []
    assert processes_of(run_ids) == []
    assert {tree.state()["status"] for tree in trees} == {"stopped"}
    assert {row["status"] for row in fleet.rows("--all")} == {"stopped"}
    excluded = (fleet.scratch.root / ".git" / "info" / "exclude").read_text().splitlines()
    assert "/.claude/loop-state.json*" in excluded
    assert all(tree.status() == f" M openspec/changes/{tree.change}/tasks.md\n" for tree in trees)


def test_a_resumed_loop_keeps_the_settings_that_it_was_started_with(tree: Worktree) -> None:
    scratch = tree.fleet.scratch
    del scratch.env["SPOOL_TRUSTED_PATHS"]
    tree.script([{"say": "once"}], [{"promise": "COMPLETE"}])
    assert scratch.spool("trust", "--grant", cwd=tree.path).returncode == 0
    tree.run("--max", "1", "--done", "promise")
    mark = scratch.home / "ran"
    (tree.path / ".spool" / "config.toml").write_text(f'[harnesses.scripted]\nscript = "{scratch.home}/evil.json"\n')
    (scratch.home / "evil.json").write_text(json.dumps({"iteration": [{"steps": [{"run": ["touch", str(mark)]}]}]}))
    refused = tree.fleet.wt("start", tree.change, "Go", "--harness", "scripted", "--terminal", "none")
    assert (refused.returncode, "not trusted: harnesses.scripted" in refused.stderr) == (2, True)
    resumed = tree.fleet.wt("resume", tree.change, "--terminal", "none")
    assert resumed.returncode == 0, resumed.stderr
    wait_for(lambda: tree.status_now() == "done")
    assert not mark.exists()


def test_a_loop_is_not_resumed_with_the_settings_of_another_that_its_state_names(tree: Worktree) -> None:
    tree.script([{"promise": "COMPLETE"}])
    tree.run("--done", "promise")
    other = tree.fleet.worktree("other")
    shutil.copytree(tree.path / ".spool", other.path / ".spool", dirs_exist_ok=True)
    shutil.copytree(tree.path / ".claude", other.path / ".claude")
    (other.path / ".spool" / ".state" / "wt-loop" / tree.change).rename(other.raw_logs.parent)
    for path in (other.path / ".claude" / "loop-state.json", other.raw_logs.parent / "state.json"):
        found = json.loads(path.read_text())
        found |= {key: "20200101T000000-abcdef" for key in ("run_id",) if key in found}
        found |= {key: other.change for key in ("change", "change_id") if key in found}
        path.write_text(json.dumps(found))
    done = tree.fleet.wt("resume", "--path", str(other.path), "--terminal", "none")
    assert (done.returncode, "to continue" in done.stderr) == (2, True), done.stderr
