"""A text becomes a proposal and tasks."""

from spool.domain.change.plan_file.proposal_split import split_plan
from spool.domain.change.story import parse_stories

TEXT = """\
# Login

People must log in.

## Background

- Nobody is known yet.

## Form

Some prose.

1. Write the
   form
   - with a password
       - and a label
2. Test it

## Session

- [x] keep it
"""


def test_prose_is_the_proposal_and_lists_are_the_tasks() -> None:
    proposal, tasks = split_plan(TEXT.replace("## Session\n\n- [x] keep it\n", ""), "unused")
    assert proposal == (
        "# Login\n\nPeople must log in.\n\n## Background\n\n- Nobody is known yet.\n\n## Form\n\nSome prose.\n"
    )
    assert tasks == (
        "## 1. Form\n\n- [ ] 1.1 Write the form\n  - with a password\n      - and a label\n- [ ] 1.2 Test it\n"
    )


def test_done_tasks_stay_done_and_empty_headings_go() -> None:
    proposal, tasks = split_plan(TEXT, "unused")
    assert "## Session" not in proposal
    [story] = parse_stories(tasks).stories
    assert (story.title, story.complete) == ("Session", True)


def test_a_text_without_a_title_gets_one_and_one_without_a_list_has_no_tasks() -> None:
    assert split_plan("Just an idea.\n", "An idea") == ("# An idea\n\nJust an idea.\n", "")


def test_numbers_are_given_anew() -> None:
    _, tasks = split_plan("## 3. Form\n- [ ] 3.1 write\n- [ ] 3.2 test\n## 7) Login\n- [ ] check\n", "x")
    assert [(story.id, story.title, story.tasks[0].text) for story in parse_stories(tasks).stories] == [
        ("1", "Form", "write"),
        ("2", "Login", "check"),
    ]


def test_what_stands_below_a_step_that_is_a_heading_belongs_to_it() -> None:
    text = "# P\n\nWhy.\n\n## Step 1: Model\n\nRows.\n\n### Notes\n\nFast.\n\n## Step 2: Page\n\nA form.\n"
    proposal, tasks = split_plan(text, "unused")
    assert proposal == "# P\n\nWhy.\n"
    first, second = parse_stories(tasks).stories
    assert (first.title, second.title) == ("Step 1: Model", "Step 2: Page")
    assert "- [ ] 1.1 Step 1: Model\n  Rows.\n  ### Notes\n  Fast.\n" in tasks
