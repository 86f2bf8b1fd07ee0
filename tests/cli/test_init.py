"""`spool init` sets a repository up."""

import json
import tomllib

import pytest

from tests.support import Scratch
from tests.support.terminal import terminal


@pytest.fixture
def empty(scratch: Scratch) -> Scratch:
    """A repository that has never heard of Spool, on a machine with two agents."""
    scratch.git("rm", "-rq", ".spool")
    (scratch.root / "Makefile").write_text("test:\n\ttest -e done.txt\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "nothing of Spool")
    scratch.agent("print('codex-cli 1')\n", "codex")
    scratch.agent("print('1')\n", "claude")
    return scratch


def settings(scratch: Scratch) -> dict[str, object]:
    return tomllib.loads((scratch.root / ".spool/config.toml").read_text())


def test_it_writes_settings_that_are_trusted_and_says_what_is_next(empty: Scratch) -> None:
    done = empty.spool("init")
    assert done.returncode == 0, done.stderr
    assert settings(empty) == {"harness": "claude", "gates": [{"name": "tasks"}, {"name": "tests", "run": "make test"}]}
    report = json.loads(empty.spool("trust", "--json").stdout)
    assert all(one["trusted"] for one in report["asked"])
    assert 'spool new "Add login"' in done.stdout
    assert done.stdout.count("make test") == 1


def test_the_settings_count_in_the_next_loop(empty: Scratch) -> None:
    empty.spool("init")
    (empty.root / "PLAN.md").write_text("- [ ] make it\n")
    empty.script([{"tick": 1}, {"promise": "COMPLETE"}], [{"write": "done.txt", "text": ""}, {"promise": "COMPLETE"}])
    done = empty.spool("run", "PLAN.md", "--harness", "scripted")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "proved" in done.stdout


def test_a_second_time_changes_nothing(empty: Scratch) -> None:
    empty.spool("init")
    path = empty.root / ".spool/config.toml"
    path.write_text(path.read_text() + "# mine\n")
    before = path.read_text()
    again = empty.spool("init")
    assert (again.returncode, path.read_text()) == (0, before)
    assert "stays as it is" in again.stdout


def test_git_init_does_not_withdraw_the_trust(empty: Scratch) -> None:
    (empty.root / ".git").rename(empty.root.with_name("away"))
    done = empty.spool("init")
    assert done.returncode == 0 and "  git init  " in done.stdout, done.stdout
    empty.git("init", "--quiet")
    assert all(one["trusted"] for one in json.loads(empty.spool("trust", "--json").stdout)["asked"])


def test_a_second_time_names_tests_that_no_check_runs(empty: Scratch) -> None:
    makefile = (empty.root / "Makefile").read_text()
    (empty.root / "Makefile").unlink()
    assert "No check" not in empty.spool("init").stdout
    (empty.root / "Makefile").write_text(makefile)
    again = empty.spool("init")
    assert '[[gates]] with run = "make test"' in again.stdout, again.stdout
    path = empty.root / ".spool/config.toml"
    path.write_text(path.read_text() + '[[gates]]\nname = "tests"\nrun = "make test"\n')
    assert "No check" not in empty.spool("init").stdout


def test_settings_of_somebody_else_are_not_trusted(empty: Scratch) -> None:
    (empty.root / ".spool").mkdir()
    (empty.root / ".spool/config.toml").write_text("allow_all = true\n")
    done = empty.spool("init")
    assert "spool trust --grant" in done.stdout
    assert json.loads(empty.spool("trust", "--json").stdout)["asked"][0]["trusted"] is False


def test_a_dry_run_writes_nothing(empty: Scratch) -> None:
    done = empty.spool("init", "--dry-run")
    assert 'run = "make test"' in done.stdout
    assert not (empty.root / ".spool").exists()


def test_without_tests_or_agents_the_settings_have_comments_in_their_place(scratch: Scratch) -> None:
    done = scratch.spool("init", env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert settings(scratch) == {"gates": [{"name": "tasks"}]}
    assert "# run = " in (scratch.root / ".spool/config.toml").read_text()
    assert "spool run 002-01_add-ralph-loop" in done.stdout


def test_next_is_the_plan_that_is_there(empty: Scratch) -> None:
    (empty.root / "TODO.md").write_text("- [ ] make it\n")
    assert "spool run TODO.md" in empty.spool("init").stdout


def test_in_a_subfolder_it_sets_up_the_whole_repository(empty: Scratch) -> None:
    (empty.root / "src").mkdir()
    empty.spool("init", cwd=empty.root / "src")
    assert (empty.root / ".spool/config.toml").exists()


def test_settings_above_the_repository_are_not_its_own(empty: Scratch) -> None:
    (empty.root.parent / ".spool").mkdir()
    (empty.root.parent / ".spool/config.toml").write_text("max_retries = 9\n")
    (empty.root / "PLAN.md").write_text("- [ ] make it\n")
    empty.script([{"tick": 1}, {"promise": "COMPLETE"}])
    assert empty.spool("run", "PLAN.md", "--harness", "scripted").returncode == 0
    assert (empty.root / ".spool/.state/run/PLAN.md").is_dir()
    assert "max_retries" in empty.spool("config").stdout and " 9 " not in empty.spool("config").stdout
    empty.spool("init")
    assert (empty.root / ".spool/config.toml").exists()


def test_outside_of_git_it_says_so(empty: Scratch) -> None:
    folder = empty.home / "plain"
    folder.mkdir()
    done = empty.spool("init", cwd=folder)
    assert (folder / ".spool/config.toml").exists()
    assert "git init" in done.stdout


def test_a_link_in_place_of_the_folder_is_refused(empty: Scratch) -> None:
    (empty.root / ".spool").symlink_to(empty.home)
    done = empty.spool("init")
    assert done.returncode == 2
    assert "is a link" in done.stderr


def test_an_agent_cannot_set_up_and_trust(empty: Scratch) -> None:
    done = empty.spool("init", env={"SPOOL_RUN_ID": "x"})
    assert done.returncode == 2
    assert "an agent cannot write the settings" in done.stderr
    assert not (empty.root / ".spool").exists()


def test_on_a_terminal_it_asks_two_questions(empty: Scratch) -> None:
    with terminal(empty, width=60) as shown:
        shown.spool("init")
        shown.until_shown("Which agent?")
        shown.keys("Down", "Enter")
        shown.until_shown("Which command runs the tests?", "make test")
        shown.keys("Space", "-", "k", "Enter")
        shown.until_shown("Wrote", "spool new")
    assert settings(empty)["harness"] == "codex"
    assert settings(empty)["gates"] == [{"name": "tasks"}, {"name": "tests", "run": "make test -k"}]


def test_a_question_that_is_not_answered_writes_nothing(empty: Scratch) -> None:
    with terminal(empty) as shown:
        shown.spool("init")
        shown.until_shown("Which agent?")
        shown.keys("C-c")
        # Until then, the question reads the keys. The prompt is "#" for root, "$" for everybody else.
        shown.until(lambda: shown.text().rstrip().endswith(("#", "$")))
        shown.type("echo", "left with", "$?")
        shown.until_shown("left with")
    assert not (empty.root / ".spool").exists()


def test_tests_of_unittest_are_run_by_unittest(empty: Scratch) -> None:
    (empty.root / "Makefile").unlink()
    (empty.root / "tests").mkdir()
    case = "import unittest\n\n\nclass Shop(unittest.TestCase):\n    def test_total(self):\n        assert True\n"
    (empty.root / "shop.py").write_text("")
    (empty.root / "tests/test_shop.py").write_text(case)
    empty.git("add", "--all")
    empty.git("commit", "--quiet", "--message", "a shop")
    empty.spool("init")
    assert settings(empty)["gates"][1] == {"name": "tests", "run": "python3 -m unittest discover -v -s tests"}  # type: ignore[index]
    assert "1 test passes" in empty.spool("verify").stdout
