"""Plan files by somebody who had not seen the parser, with the stories and tasks that they expect."""

import json
from pathlib import Path
from typing import Any

import pytest

from spool.domain.change.plan_file.task_choice import parse_plan
from spool.domain.change.tasks import BOXLESS

FOLDER = Path(__file__).parents[4] / "data/plans/blind"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text("utf-8"))


def stories(name: str) -> list[tuple[str, list[tuple[str, bool | None]]]]:
    """Return what the parser finds."""
    text = (FOLDER / name).read_bytes().decode("utf-8-sig")
    return [
        (story.title, [(task.text, None if task.mark == BOXLESS else task.mark in "xX") for task in story.tasks])
        for story in parse_plan(text)[1]
    ]


def expected(name: str) -> list[tuple[str, list[tuple[str, bool | None]]]]:
    return [
        (story["title"], [(task["text"], task["done"]) for task in story["tasks"]])
        for story in EXPECTED[name]["stories"]
    ]


DIFFERENT = {
    "03-todo-md.md": "what is for 'Maybe someday' is not done tonight",
    "04-roadmap-quarters.md": "nor is what is for 'Later'",
    "07-nested-three-levels.md": "a box around boxes is a box, which must be ticked as well",
    "08-table-tasks.md": "an escaped pipe in a table is a pipe",
    "13-kiro-tasks.md": "a box around boxes is a box, which must be ticked as well",
    "19-meeting-notes.md": "where a plan has boxes, a list without any is not work",
    "21-german-umbau.md": "where a plan has boxes, a list without any is not work",
    "22-japanese-plan.md": "where a plan has boxes, a list without any is not work",
    "23-long-items.md": "where a plan has boxes, a list without any is not work",
}
"""Where Spool reads otherwise, and why."""


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_blind_plan(name: str) -> None:
    found, wanted = stories(name), expected(name)
    # A task is expected as its first line; Spool joins the lines of an item.
    lines = {text for _, tasks in wanted for text, _ in tasks}
    first = [
        (title, [(next((line for line in lines if text.startswith(line)), text), done) for text, done in tasks])
        for title, tasks in found
    ]
    assert (first == wanted) is (name not in DIFFERENT)
