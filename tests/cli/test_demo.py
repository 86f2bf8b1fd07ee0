"""`spool demo`, and the first screen of `spool`."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import CHANGE, Scratch, make_scratch
from tests.support.terminal import terminal


@pytest.fixture
def empty(scratch: Scratch) -> Scratch:
    scratch.git("rm", "-rq", ".spool")
    return scratch


@dataclass(frozen=True)
class Demo:
    """A demo that was played to its end, and what was around it before."""

    scratch: Scratch
    done: subprocess.CompletedProcess[str]
    status: str


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo, called in a project by a person whose settings would fail it; once for all, since it has pauses."""
    scratch = make_scratch(tmp_path_factory.mktemp("demo"))
    config = scratch.home / ".config/spool/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[[gates]]\nrun = "false"\n')
    (scratch.home / ".gitconfig").write_text("[commit]\n\tgpgsign = true\n[core]\n\thooksPath = /nowhere\n")
    (scratch.home / "scratch").mkdir()
    status = scratch.git("status", "--short", "--ignored")
    return Demo(scratch, scratch.spool("demo", env={"TMPDIR": str(scratch.home / "scratch")}), status)


@pytest.mark.xdist_group("demo")
def test_the_demo_is_refused_reverted_and_proved(demo: Demo) -> None:
    assert demo.done.returncode == 0, demo.done.stderr
    order = [
        "=== story 1 is complete, proved",
        "=== reverted to the checkpoint",
        "=== story 2 is complete, proved",
        "test_refund vanished",
        "=== story 3 is complete, proved",
        "--- proved:",
        "Try next:",
    ]
    places = [demo.done.stdout.index(part) for part in order]
    assert places == sorted(places)
    assert list((demo.scratch.home / "scratch").iterdir()) == []
    assert [path for path in (demo.scratch.home / ".local").rglob("*") if path.is_file()] == []


@pytest.mark.xdist_group("demo")
def test_the_settings_of_the_person_do_not_count_in_the_demo(demo: Demo) -> None:
    assert demo.done.returncode == 0, demo.done.stderr


@pytest.mark.long
def test_a_kept_demo_reports(scratch: Scratch) -> None:
    done = scratch.spool("demo", "--keep", "kept", cwd=scratch.home)
    assert "cd kept && spool report" in done.stdout, done.stderr
    report = scratch.spool("report", cwd=scratch.home / "kept")
    assert (report.returncode, "3 proved" in report.stdout) == (0, True), report.stdout


@pytest.mark.long
def test_a_kept_demo_can_be_looked_at_and_run_again(scratch: Scratch) -> None:
    done = scratch.spool("demo", "--keep", "kept", cwd=scratch.home)
    assert done.returncode == 0, done.stderr
    root = scratch.home / "kept"
    assert "cd kept && spool checkpoint list" in done.stdout
    assert "001-01_shop" in scratch.spool("checkpoint", "list", cwd=root).stdout
    assert scratch.spool("verify", cwd=root).returncode == 0
    subprocess.run(["git", "checkout", "-q", "."], cwd=root, check=True)
    again = scratch.spool("run", "001-01_shop", "--fresh", cwd=root)
    assert again.returncode == 0, again.stdout + again.stderr
    refused = scratch.spool("demo", "--keep", "kept", cwd=scratch.home)
    assert (refused.returncode, "is not empty" in refused.stderr) == (2, True)


@pytest.mark.long
def test_the_demo_on_the_screen(scratch: Scratch) -> None:
    with terminal(scratch, width=120, height=40) as shown:
        shown.spool("demo", "--tui")
        shown.until_shown("Discounts", "Refunds")
        shown.until(lambda: "proved" in shown.text() and "done" in shown.text())
        shown.keys("q")
        shown.until_shown("q quit")
        shown.keys("q")
        shown.until_shown("Try next:")


def test_without_a_terminal_the_screen_is_refused(scratch: Scratch) -> None:
    done = scratch.spool("demo", "--tui")
    assert (done.returncode, "needs a terminal" in done.stderr) == (2, True)


def test_spool_in_an_empty_repository_prints_the_first_steps(empty: Scratch) -> None:
    done = empty.spool()
    assert done.returncode == 0
    for part in ("spool new", "spool run PLAN.md", "spool demo"):
        assert part in done.stdout
    wide, narrow = (empty.spool(env={"COLUMNS": columns}).stdout.partition("yet.")[2] for columns in ("100", "60"))
    assert max(map(len, narrow.splitlines())) <= 60 < max(map(len, wide.splitlines())) <= 100


def test_spool_with_changes_prints_its_help_without_a_terminal(scratch: Scratch) -> None:
    done = scratch.spool()
    assert done.returncode == 2
    assert "Start:" in done.stderr


@pytest.mark.parametrize("words", [(), ("tui",)])
def test_on_a_terminal_a_new_change_can_be_picked(empty: Scratch, words: tuple[str, ...]) -> None:
    with terminal(empty, width=60, EDITOR="") as shown:
        shown.spool(*words)
        shown.until_shown("Write a new change", "Run a plan, any Markdown list", "Watch the demo")
        shown.keys("Enter")
        shown.until_shown("What is to be done?")
        shown.keys("L", "o", "g", "Enter")
        shown.until_shown("Made 001-01_log")


def test_on_a_terminal_a_plan_can_be_picked(empty: Scratch) -> None:
    (empty.root / "TODO.md").write_text("# Login\n\n## Form\n\n- [ ] write it\n")
    (empty.root / "README.md").write_text("# Project\n\n## Usage\n\n- nothing\n")
    with terminal(empty) as shown:
        shown.spool()
        shown.until_shown("Spool · changes", "TODO.md", "Login")  # it lies where plans lie, so it is in the list
        assert "README.md" not in shown.text()
        shown.keys("Enter")
        shown.until_shown("Spool · ", "write it")


def test_on_a_terminal_a_plan_in_an_unusual_place_can_be_picked(empty: Scratch) -> None:
    (empty.root / "login.md").write_text("# Login\n\n## Form\n\n- [ ] write it\n")
    (empty.root / "README.md").write_text("# Project\n\n## Usage\n\n- nothing\n")
    with terminal(empty) as shown:
        shown.spool()
        shown.until_shown("Run a plan, any Markdown list")
        shown.keys("Down", "Enter")
        shown.until_shown("Which plan?", "login.md")
        assert "README.md" not in shown.text()
        shown.keys("Enter")
        shown.until_shown("Spool · login.md")
        shown.keys("q")


@pytest.mark.long
def test_on_a_terminal_the_demo_can_be_picked(empty: Scratch) -> None:
    with terminal(empty, height=60, NO_COLOR="1") as shown:
        shown.spool()
        shown.until_shown("Watch the demo")
        shown.keys("Down", "Down", "Enter")
        shown.until_shown("Try next:", "spool init")


def test_a_running_loop_on_a_plan_is_something_to_show(empty: Scratch) -> None:
    (empty.root / "PLAN.md").write_text("- [ ] write it\n")
    empty.script([{"sleep": 600}])
    started = empty.spool("run", "PLAN.md", "--harness", "scripted", "--detach")
    assert started.returncode == 0, started.stderr
    try:
        with terminal(empty) as shown:
            shown.spool()
            shown.until_shown("PLAN.md", "running")
            shown.keys("q")
    finally:
        empty.spool("stop", "PLAN.md")


def test_make_demo_installs_no_tools_of_the_tests() -> None:
    root = Path(__file__).parents[2]
    words = ["make", "--dry-run", "--always-make", "demo"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True)
    assert "-r requirements/dev.txt" not in done.stdout
    assert "-r requirements/run.txt" in done.stdout


@pytest.mark.xdist_group("demo")
def test_the_demo_does_not_touch_where_it_is_called(demo: Demo) -> None:
    assert demo.done.returncode == 0
    assert demo.scratch.git("status", "--short", "--ignored") == demo.status
    assert demo.scratch.change.name == CHANGE
