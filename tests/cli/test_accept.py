"""Work that only a person can judge ends the loop as needs you, and `spool accept` accepts that tree."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.cli.checked import DONE
from tests.support import PATIENCE_S, Scratch

GATE = "python3 -m unittest -v"
OLD = (
    "import unittest\nimport calc\n\n\nclass T(unittest.TestCase):\n    def test_sub(self):\n"
    "        self.assertEqual(calc.sub(3, 5), {})\n"
)
REWRITTEN = [
    {"write": "calc.py", "text": "def sub(a, b):\n    return max(a - b, 0)\n"},
    {"write": "test_calc.py", "text": OLD.format(0)},
]


@pytest.fixture
def clamped(scratch: Scratch) -> Scratch:
    """A project whose test contradicts what the agent is asked for."""
    (scratch.root / "calc.py").write_text("def sub(a, b):\n    return a - b\n")
    (scratch.root / "test_calc.py").write_text(OLD.format(-2))
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "a calculator")
    return scratch


def accept(scratch: Scratch, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return scratch.spool("accept", *words, env=more)


def test_rewritten_tests_end_the_loop_as_needs_you_and_can_be_accepted(clamped: Scratch) -> None:
    clamped.script([*REWRITTEN, DONE], [DONE])
    done = clamped.ralph("Go", "--harness", "scripted", "--verify", GATE, timeout=PATIENCE_S)
    assert done.returncode == 6, done.stderr + done.stdout
    assert "needs you" in done.stderr + done.stdout
    assert "spool accept" in done.stderr + done.stdout
    assert "why the old tests must change" in clamped.prompt(2)
    assert accept(clamped, SPOOL_RUN_ID="x").returncode == 2  # an agent cannot speak for a person
    assert accept(clamped).returncode == 2  # nobody was asked
    accepted = accept(clamped, "--yes")
    assert accepted.returncode == 0, accepted.stderr
    assert "-        self.assertEqual(calc.sub(3, 5), -2)" in accepted.stderr
    state = json.loads((clamped.state / "state.json").read_text())
    assert (state["status"], state["memory"]["proof"]) == ("done", "unbroken")
    assert "test_calc.py" in state["memory"]["evidence"]
    assert accept(clamped, "--yes").returncode == 2


def test_an_acceptance_holds_for_the_tree_that_was_checked(clamped: Scratch) -> None:
    clamped.script([*REWRITTEN, DONE], [DONE])
    assert clamped.ralph("Go", "--harness", "scripted", "--verify", GATE, timeout=PATIENCE_S).returncode == 6
    (clamped.root / "calc.py").write_text("def sub(a, b):\n    return 0\n")
    assert "has changed" in accept(clamped, "--yes").stderr


def test_a_story_that_was_accepted_is_done_at_the_next_start(clamped: Scratch) -> None:
    clamped.script([*REWRITTEN, {"tick": 2}, DONE], [DONE])
    done = clamped.run("--verify", GATE, timeout=PATIENCE_S)
    assert done.returncode == 6, done.stderr + done.stdout
    assert accept(clamped, "--yes").returncode == 0
    again = clamped.run("--verify", GATE, timeout=PATIENCE_S)
    assert again.returncode == 0, again.stderr + again.stdout
    assert "max(a - b, 0)" in (clamped.root / "calc.py").read_text()
