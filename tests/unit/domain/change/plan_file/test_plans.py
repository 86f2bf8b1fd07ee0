"""Which stories and tasks a plan file has."""

import pytest

from spool.domain.change.plan_file.boxed import has_heading_tasks, has_table_tasks, plan_tasks, with_boxes
from spool.domain.change.plan_file.task_choice import parse_plan
from spool.domain.change.story import stories_of
from spool.domain.change.tasks import BOXLESS, parse_tasks

PRD = """\
---
tasks:
- not a task
---
# PRD: Login

## Goals
- fast

## 2. Implementation steps
1. Add the form
   - email
   - password
2. Keep the
   session

## Risks and mitigations
- none
"""
NESTED_HEADINGS = """\
# Plan

- a note beside boxes

## Phase 1
### Backend
- [x] one
- [ ] two
    - [ ] inner
    - how
### Frontend
* [ ] three
## Phase 2
### Backend again
-[ ] four
```
- [ ] in a sandbox
```
<!--
- [ ] in a comment
-->
> - [ ] quoted
"""
USER_STORIES = """\
## US-001: Add a column
**Description:** as a developer

**Acceptance Criteria:**
- [ ] migration
- [x] types

## US-002: Show it

**Acceptance Criteria:**
- [ ] badge
"""
TABLE = """\
| # | Phase | Task | Status |
|---|-------|------|--------|
| 1 | Parser | Lexer | Done |
| 2 | | Grammar | in progress |
| 3 | Printer | Colours | cancelled |
"""
CASES = {
    "a flat list is one story": ("- one\n- two\n", {"": "one|two"}),
    "a title names a flat list": ("# Login\n\n1. one\n2) two\n\n", {"Login": "one|two"}),
    "background is left out": (PRD, {"2. Implementation steps": "Add the form|Keep the session"}),
    "the innermost heading is the story": (
        NESTED_HEADINGS,
        {"Backend": "one|two|inner", "Frontend": "three", "Backend again": "four"},
    ),
    "acceptance criteria belong to their story": (
        USER_STORIES,
        {"US-001: Add a column": "migration|types", "US-002: Show it": "badge"},
    ),
    "an outline's items are the stories": (
        "- Form\n  - one\n  - two\n- Login\n  - three\n",
        {"Form": "one|two", "Login": "three"},
    ),
    "sub-items are part of their task": ("## A\n- one\n  - how\n- two\n", {"A": "one|two"}),
    "a step leads the list after it": ("1. Form\n\n- one\n\n2. Login\n\n- two\n", {"Form": "one", "Login": "two"}),
    "plain items around boxes are stories": (
        "- Form:\n  - [ ] one\n- Login\n  - [ ] two\n",
        {"Form": "one", "Login": "two"},
    ),
    "bold lines are headings": ("**Phase 1**\n\n- one\n\n__Phase 2:__\n- two\n", {"Phase 1": "one", "Phase 2": "two"}),
    "underlined headings are headings": ("Form\n----\n- one\n\nLogin\n=====\n- two\n", {"Form": "one", "Login": "two"}),
    "a table with a status": (TABLE, {"Parser": "Lexer|Grammar", "Printer": "Colours"}),
    "a table of tasks": ("## A\n\n|Step|Why|\n|-|-|\n|one|x|\n|two|y|\n", {"A": "one|two"}),
    "a table of anything else": ("|Option|Default|\n|-|-|\n|one|x|\n", {}),
    "plain items between boxes are tasks": ("- [x] one\n- two\n- [ ] three\n", {"": "one|two|three"}),
    "plain lists beside a list with boxes are not": ("## A\n- [x] one\n\nProse.\n\n- note\n", {"A": "one"}),
    "where a plan has boxes, plain lists are not tasks": (
        "## Phase 1: A\n**Files:**\n- Modify: a.go\n\n- [x] one\n- [x] two\n## Phase 2\n- note\n",
        {"Phase 1: A": "one|two"},
    ),
    "text between two rules is not front matter": ("---\n\n- [ ] one\n\n---\n", {"": "one"}),
    "front matter alone is no plan": ("---\ntitle: A plan\ntasks:\n- one\n---\n", {}),
    "a torn box is not an item": ("- [x]z\n- [ ] one\n", {"": "one"}),
    "a changelog asks for nothing": ("# Changelog\n## 2.1\n- Fixed a crash\n", {}),
    "generic headings belong to their story": (
        "# P\n## Login\n### Tasks\n- [ ] one\n### Definition of done\n- [ ] reviewed\n",
        {"Login": "one"},
    ),
    "a README asks for nothing": ("## Features\n- fast\n## Installation\npip install it\n", {}),
    "labels give way to their items": ("## A\n- Before:\n  - one\n- two\n", {"A": "one|two"}),
    "steps that are headings": (
        "# Plan\n## Context\nWhy.\n## Step 1: Add the model\nRows.\n### Notes\nFast.\n## Step 2: Show it\nA page.\n",
        {"Step 1: Add the model": "Step 1: Add the model", "Step 2: Show it": "Step 2: Show it"},
    ),
    "steps inside of phases": (
        "## Phase 1: Data\n### Task 1: Model\nA.\n### Task 2: Index\nB.\n## Phase 2: Page\n### Task 3: Form\nC.\n",
        {"Task 1: Model": "Task 1: Model", "Task 2: Index": "Task 2: Index", "Task 3: Form": "Task 3: Form"},
    ),
    "headings below one that announces them": (
        "# P\n## Goals\n- fast\n## Implementation steps\n### Add the model\nA.\n### Show it\nB.\n",
        {"Add the model": "Add the model", "Show it": "Show it"},
    ),
    "bold lines that are steps": (
        "**Step 1: Model**\n\nA.\n\n**Step 2: Page**\n\nB.\n",
        {"Step 1: Model": "Step 1: Model", "Step 2: Page": "Step 2: Page"},
    ),
    "where a step has a list, lists are the tasks": (
        "## Step 1: A\n- one\n## Step 2: B\nProse.\n",
        {"Step 1: A": "one"},
    ),
    "one step is no series": ("# P\n## Step 1: Add the model\nA.\n", {}),
    "a design has no steps": ("# D\n## Storage\nA.\n## Implementation\n### Rows\nB.\n### Columns\nC.\n", {}),
    "numbered chapters are no steps": ("# D\n## 1. Introduction\nA.\n## 2. Data model\nB.\n", {}),
    "a README with steps asks for nothing": ("# R\n## Installation\n### Step 1\nA.\n### Step 2\nB.\n", {}),
    "no list": ("# Title\n\nSome prose.\n", {}),
    "empty boxes are no tasks": ("- [ ]\n- [ ] one\n", {"": "one"}),
    "windows line ends and a byte order mark": ("\ufeff## A\r\n\r\n- [ ] one\r\n- [x] two\r\n", {"A": "one|two"}),
}


@pytest.mark.parametrize("case", CASES, ids=list(CASES))
def test_stories_and_tasks(case: str) -> None:
    text, expected = CASES[case]
    assert {story.title: "|".join(task.text for task in story.tasks) for story in parse_plan(text)[1]} == expected


@pytest.mark.parametrize(
    ("item", "mark"),
    [
        ("[ ] a", " "),
        ("[] a", " "),
        ("[/] a", " "),
        ("[x] a", "x"),
        ("[X] a", "x"),
        ("[✓] a", "x"),
        ("✅ a", "x"),
        ("☐ a", " "),
        ("[?] a", "?"),
        ("[-] a", "-"),
        ("~~a~~", "x"),
        ("a", BOXLESS),
        ("[a](b.md)", BOXLESS),
        ("[1] a", BOXLESS),
    ],
)
def test_marks(item: str, mark: str) -> None:
    [story] = parse_plan(f"- {item}\n")[1]
    assert story.tasks[0].mark == mark


def test_what_stands_under_done_is_done() -> None:
    marks = [task.mark for story in parse_plan("## Now\n- one\n## Done\n- two\n")[1] for task in story.tasks]
    assert marks == [BOXLESS, "x"]


def test_a_step_that_is_a_heading_may_be_done() -> None:
    stories = parse_plan("# P\n## Step 1: A ✅\nx\n## Step 2: B\ny\n## Done\n### Step 3: C\nz\n")[1]
    assert [story.title for story in stories] == ["Step 1: A", "Step 2: B", "Step 3: C"]
    assert [story.tasks[0].mark for story in stories] == ["x", BOXLESS, "x"]


def test_headings_have_no_place_for_boxes() -> None:
    text = "# P\n\n## Step 1: A\n\nx\n\n## Step 2: B\n\ny\n"
    assert has_heading_tasks(text)
    assert with_boxes(text) == text
    assert not has_heading_tasks("## Step 1: A\n- one\n## Step 2: B\n- two\n")


def test_equal_headings_are_two_stories() -> None:
    text = "## A\n### Cleanup\n- [ ] one\n## B\n### Cleanup\n- [ ] two\n### Cleanup\n- [ ] three\n"
    assert [story.title for story in parse_plan(text)[1]] == ["Cleanup"] * 3
    titles = [story.title for story in stories_of(plan_tasks(text)).stories]
    assert titles == ["A: Cleanup", "B: Cleanup", "B: Cleanup (2)"]


def test_a_status_column_is_a_box() -> None:
    marks = [task.mark for story in parse_plan(TABLE)[1] for task in story.tasks]
    assert marks == ["x", " ", "-"]


def test_as_a_task_list_every_task_is_in_its_story() -> None:
    stories = stories_of(plan_tasks(NESTED_HEADINGS)).stories
    assert [(story.id, story.title, len(story.open)) for story in stories] == [
        ("1", "Backend", 2),
        ("2", "Frontend", 1),
        ("3", "Backend again", 1),
    ]
    [story] = stories_of(plan_tasks(PRD)).stories
    assert (story.id, story.title, story.boxless) == ("2", "Implementation steps", True)


def test_fields_of_tasks_stay_as_they_are() -> None:
    text = "## Wave 1\n\n### Task 1.1: Write\n- **Files**: a.py\n- **Status**: [ ] pending\n"
    assert plan_tasks(text) == parse_tasks(text)


def test_a_table_without_a_status_has_no_place_for_boxes() -> None:
    assert [name for name, (text, _) in CASES.items() if has_table_tasks(text)] == ["a table of tasks"]


@pytest.mark.parametrize(
    "text", [text for text, _ in CASES.values() if not has_table_tasks(text) if not has_heading_tasks(text)]
)
def test_boxes_change_nothing_but_the_marks(text: str) -> None:
    boxed = with_boxes(text)
    assert boxed.replace("[ ] ", "") == text.replace("[ ] ", "")
    before, after = parse_plan(text)[1], parse_plan(boxed)[1]
    assert [(story.title, [task.text for task in story.tasks]) for story in after] == [
        (story.title, [task.text for task in story.tasks]) for story in before
    ]
    assert not any(task.mark == BOXLESS for story in after for task in story.tasks)


def test_boxes_are_put_on_the_lines_of_the_items() -> None:
    assert (
        with_boxes("intro\f\r\n\r\n1) one\r\n   more\r\n2) two") == "intro\f\r\n\r\n1) [ ] one\r\n   more\r\n2) [ ] two"
    )
