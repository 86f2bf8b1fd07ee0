"""Stories of a tasks.md, in both formats."""

from spool.domain.change.story import parse_scenarios, parse_stories

ENHANCED = """# Tasks for: add-auth

## Wave 1
- **Depends On**: None

### Task 1.1: Write the form
- **Files**: `form.py`, `form.css`
- **Dependencies**: None
- **Action**:
  Write the form
  with two fields
- **Verify**: `make test`
- **Done When**: the form shows
- **Updated At**: 2026-01-01
- **Status**: [x] complete

## Wave 2: Log in
- **Depends On**: Wave 1, Wave 3

### Task 2.1: Check the password
- **Status**: [ ] in-progress

### Task 2.2: Remember me
- **Status**: [-] shelved

## Wave 3
- **Depends On**: Wave 1

### Task 3.1: Store passwords
- **Status**: [ ] pending
"""


def test_groups_are_stories_and_boxes_their_tasks() -> None:
    found = parse_stories("# Tasks\n\n## 1. Form\n- [x] 1.1 Write\n- [x] 1.2 Test\n\n## 2. Login\n- [ ] 2.1 Check\n")
    assert [(story.id, story.title, story.complete) for story in found.stories] == [
        ("1", "Form", True),
        ("2", "Login", False),
    ]
    assert [(task.id, task.text, task.done) for task in found.stories[0].tasks] == [
        ("1.1", "Write", True),
        ("1.2", "Test", True),
    ]
    assert found.next is found.stories[1]
    assert (found.completed, found.position(found.stories[1])) == (1, 2)


def test_a_list_without_groups_is_one_story() -> None:
    found = parse_stories("- [ ] Write\n- [x] Test\n")
    assert [(story.id, story.title) for story in found.stories] == [("1", "All tasks")]
    assert [task.id for task in found.stories[0].tasks] == ["1.1", "1.2"]


def test_a_group_without_boxes_is_no_story() -> None:
    assert [story.title for story in parse_stories("## Notes\nwords\n## 1. Work\n- [ ] a\n").stories] == ["Work"]


def test_two_groups_with_one_number_are_two_stories() -> None:
    assert [story.id for story in parse_stories("## 1. A\n- [ ] a\n## 1. B\n- [ ] b\n").stories] == ["1", "1-2"]


def test_two_headings_with_the_same_title_are_two_stories() -> None:
    found = parse_stories("## Setup\n- [x] 1\n## Use\n- [ ] 2\n## Setup\n- [ ] 3\n## Empty\n## Empty\n- [ ] 4")
    assert [(story.id, story.title, len(story.tasks)) for story in found.stories] == [
        ("1", "Setup", 1), ("2", "Use", 1), ("3", "Setup (2)", 1), ("4", "Empty", 1),
    ]  # fmt: skip
    waves = parse_stories("## Wave 1: A\n### Task 1.1: x\n## Wave 1: A\n- **Depends on**: Wave 1\n### Task 1.2: y\n")
    assert [(story.id, story.title, story.depends_on) for story in waves.stories] == [
        ("1", "A", ()), ("1-2", "A (2)", ("1",)),
    ]  # fmt: skip


def test_a_persons_task_does_not_hold_a_story_open() -> None:
    story = parse_stories("## 1. A\n- [x] 1.1 a\n- [?] 1.2 ask the boss\n").stories[0]
    assert story.complete
    assert [task.mark for task in story.tasks] == ["x", "?"]


def test_waves_are_stories() -> None:
    found = parse_stories(ENHANCED)
    assert [(story.id, story.title, story.depends_on, story.complete) for story in found.stories] == [
        ("1", "Wave 1", (), True),
        ("2", "Log in", ("1", "3"), False),
        ("3", "Wave 3", ("1",), False),
    ]
    first = found.stories[0].tasks[0]
    assert (first.id, first.text) == ("1.1", "Write the form")
    assert dict(first.details)["Action"] == "Write the form\nwith two fields"
    assert [task.mark for task in found.stories[1].tasks] == [" ", "-"]


def test_a_task_without_a_status_is_open() -> None:
    text = "## Wave 1\n### Task 1.1: a\n- **Files**: x\n### Task 1.2: b\n- **Status**: [x] complete\n"
    story = parse_stories(text).stories[0]
    assert [(task.id, task.mark) for task in story.tasks] == [("1.1", " "), ("1.2", "x")]


def test_a_wave_waits_for_those_it_depends_on() -> None:
    upcoming = parse_stories(ENHANCED).next
    assert upcoming is not None
    assert upcoming.id == "3"


def test_a_circle_of_waves_still_has_a_first() -> None:
    text = "## Wave 1\n- **Depends On**: Wave 2\n### Task 1.1: a\n- **Status**: [ ] pending\n"
    text += "## Wave 2\n- **Depends On**: Wave 1\n### Task 2.1: b\n- **Status**: [ ] pending\n"
    upcoming = parse_stories(text).next
    assert upcoming is not None
    assert upcoming.id == "1"


def test_scenarios() -> None:
    spec = "## ADDED\n### Requirement: R\nIt SHALL.\n#### Scenario: One\n- **WHEN** a\n- **THEN** b\n\n"
    spec += "#### Scenario: Two\n- **WHEN** c\n"
    assert parse_scenarios(spec) == [
        "#### Scenario: One\n- **WHEN** a\n- **THEN** b",
        "#### Scenario: Two\n- **WHEN** c",
    ]
