"""The README is short, and every command in it is run: by a test here, or by `.ci/run`."""

from __future__ import annotations

import re
from pathlib import Path

from markdown_it import MarkdownIt

from tests.docs.test_runnable import runnable
from tests.support import Scratch

TOP = Path(__file__).parents[2]
TEXT = (TOP / "README.md").read_text()
BLOCKS = [token.content for token in MarkdownIt().parse(TEXT) if token.type in ("fence", "code_block")]


def test_the_readme_has_at_most_90_lines() -> None:
    assert len(TEXT.splitlines()) <= 90


def test_every_command_of_the_readme_is_run_by_a_test_or_by_ci() -> None:
    run_here = {text for _, text in runnable("README.md")}
    others = [block for block in BLOCKS if block not in run_here and not block.startswith("## ")]
    targets = [line.split()[1] for block in others for line in block.splitlines()]
    assert targets == ["demo", "install", "test"]
    assert all(re.search(rf"\bmake {target}\b", (TOP / ".ci/run").read_text()) for target in targets)


def test_the_plan_of_the_readme_is_one_story_with_two_tasks(scratch: Scratch) -> None:
    (plan,) = (block for block in BLOCKS if block.startswith("## "))
    (scratch.root / "PLAN.md").write_text(plan)
    done = scratch.spool("stories", "PLAN.md")
    assert done.returncode == 0, done.stderr
    assert "Discounts" in done.stdout and "Orders of 100" in done.stdout and "A test shows it" in done.stdout
