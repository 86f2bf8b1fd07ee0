"""`spool verify --since` judges a branch by anybody, without a plan, an agent or settings."""

from __future__ import annotations

import json

import pytest

from tests.support import Scratch

TEST = (
    "import unittest\nimport calc\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n"
    "        self.assertEqual(calc.add(1, 2), 3)\n"
)
MORE = TEST + "\n    def test_twice(self):\n        self.assertEqual(calc.twice(2), 4)\n"
CALC = "def add(a, b):\n    return a + b\n"
TWICE = CALC + "\n\ndef twice(a):\n    return a + a\n"


@pytest.fixture
def branch(scratch: Scratch) -> Scratch:
    """A branch that has left main, in a project without settings."""
    (scratch.root / ".gitignore").write_text("__pycache__/\n")
    commit(scratch, "calc.py", CALC)
    commit(scratch, "test_calc.py", TEST)
    scratch.git("branch", "--force", "trunk")
    return scratch


def commit(scratch: Scratch, name: str, text: str | None) -> None:
    path = scratch.root / name
    path.unlink() if text is None else path.write_text(text)
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", f"edit {name}")


def test_a_committed_deletion_of_a_test_is_refused(branch: Scratch) -> None:
    commit(branch, "test_calc.py", TEST.replace("def test_add", "def check_add"))
    done = branch.spool("verify", "--since", "trunk", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert (found["proof"], found["since"].split(",")[0]) == ("refused", "trunk")


def test_a_branch_with_a_test_that_shows_it_is_proved(branch: Scratch) -> None:
    commit(branch, "calc.py", TWICE)
    commit(branch, "test_calc.py", MORE)
    done = branch.spool("verify", "--since", "trunk", "--markdown")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("**proved**")
    assert "fails without the change: `test_calc.T.test_twice`" in done.stdout


def test_commits_of_the_other_branch_are_not_part_of_it(branch: Scratch) -> None:
    commit(branch, "calc.py", TWICE)
    branch.git("checkout", "--quiet", "trunk")
    commit(branch, "test_calc.py", MORE)
    branch.git("checkout", "--quiet", "-")
    assert branch.spool("verify", "--since", "trunk").returncode == 0


def test_an_unknown_commit_is_a_usage_error(branch: Scratch) -> None:
    done = branch.spool("verify", "--since", "--nowhere")
    assert (done.returncode, "is not a commit" in done.stderr) == (2, True), done.stderr
