"""Which stories each format of plans has, and what is recorded in it."""

import json
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from spool.domain.change.plan_file.ids import plan_id
from spool.domain.change.story import StoryList, stories_of
from spool.errors import ChangeError
from spool.sources.kiro import parse_kiro, record_kiro
from spool.sources.markdown import parse_markdown
from spool.sources.prd import parse_prd, record_prd
from spool.sources.project import Project
from spool.sources.source import Acceptance
from spool.sources.spec_kit import parse_spec_kit

PRD = """\
{ "project": "Shop",
  "userStories": [
    {"id": "US-2", "title": "Show it", "priority": 2, "passes": true , "dependsOn": ["US-1"], "x": 1.0},
    {"id": "US-1", "title": "Store it", "acceptanceCriteria": ["a migration"], "priority": 1,
     "passes": false, "notes": "caf\\u00e9"}
  ]}\r
"""
KIRO = """\
# Implementation Plan

- [ ] 1. Store it
  - [x] 1.1 Add a table
    - _Requirements: 1.2_
  - [ ]* 1.2 Write property tests
- [ ] 2. Show it
"""
REQUIREMENTS = "### Requirement 1: Storage\n#### Acceptance Criteria\n1. WHEN a THEN b\n2. WHEN c THEN d\n"


def accepted(stories: StoryList, story_id: str, evidence: str = "proved") -> Acceptance:
    """Return the acceptance of one story; no other is done."""
    marked = [
        msgspec.structs.replace(
            one,
            tasks=tuple(msgspec.structs.replace(task, mark="x" if one.id == story_id else ".") for task in one.tasks),
        )
        for one in stories.stories
    ]
    found = stories.find(story_id)
    assert found is not None
    return Acceptance(story=found, evidence=evidence, stories=StoryList(tuple(marked)))


def test_prd_stories_come_by_priority_with_criteria_and_dependencies() -> None:
    first, second = stories_of(parse_prd(PRD, {})).stories
    assert (first.id, first.title, first.criteria, first.complete) == ("US-1", "Store it", ("a migration",), False)
    assert (second.id, second.depends_on, second.complete, second.tasks[0].line) == ("US-2", ("US-1",), True, 3)


def test_prd_records_only_state_and_notes_and_takes_back_what_an_agent_wrote() -> None:
    claim = accepted(stories_of(parse_prd(PRD, {})), "US-1")
    recorded = record_prd(PRD, claim)
    expected = PRD.replace('"passes": true', '"passes": false').replace(
        '"passes": false, "notes"', '"passes": true, "notes"'
    )
    assert recorded == expected.replace('"caf\\u00e9"', '"café\\nSpool: proved"')
    assert record_prd(recorded, claim) == recorded


def test_prd_variants() -> None:
    text = '[{"description": "A", "steps": ["s"], "tested": true}, {"name": "B", "status": "in progress"}]'
    stories = stories_of(parse_prd(text, {}))
    assert [(one.title, one.complete, one.criteria) for one in stories.stories] == [
        ("A", True, ("s",)),
        ("B", False, ()),
    ]


def test_kiro_numbers_are_stories_and_requirements_are_quoted() -> None:
    stories = stories_of(parse_kiro(KIRO, {"requirements.md": REQUIREMENTS}))
    first, second = stories.stories
    assert (first.id, first.title, first.criteria) == ("1", "Store it", ("1.2 WHEN c THEN d",))
    assert [(task.id, task.mark) for task in first.tasks] == [("1.1", "x"), ("1.2", "-")]
    assert (second.title, second.complete) == ("Show it", False)
    assert record_kiro(KIRO, accepted(stories, "1")) == KIRO.replace("[ ] 1. ", "[x] 1. ")


def test_spec_kit_phases_and_user_stories(tmp_path: Path) -> None:
    text = "# Tasks\n## Phase 1: Setup\n- [ ] T1 a\n## Phase 2\n- [ ] T2 [US1] b\n- [ ] T3 [US2] c\n- [x] T4 [US1] d\n"
    titles = [(one.title, len(one.tasks)) for one in stories_of(parse_spec_kit(text, {})).stories]
    assert titles == [("Phase 1: Setup", 1), ("Phase 2 US1", 2), ("Phase 2 US2", 1)]
    folder = tmp_path / "specs/003-login"
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text(text)
    (folder / "spec.md").write_text("# Login by mail")
    read = Project(tmp_path).read(plan_id("specs/003-login/tasks.md"))
    assert (read.source, "Login by mail" in read.context) == ("spec-kit", True)
    [listed] = Project(tmp_path).plans()
    assert (listed.name, listed.source, listed.title, listed.total) == ("specs/003-login", "spec-kit", "Tasks", 4)


LINES = st.sampled_from(
    [
        "# A",
        "## B",
        "- [ ] 1. a",
        "  - [x] 1.1 b",
        "- [ ]* 2 c",
        "- d",
        "---",
        "a: b",
        "```",
        "|Task|Done|",
        "|-|-|",
        "|e||",
        "",
        "[x]z",
    ]
)


@given(st.lists(LINES | st.text(max_size=12)).map("\n".join))
def test_no_text_crashes_a_reader(text: str) -> None:
    for parse in (parse_markdown, parse_kiro, parse_spec_kit, parse_prd):
        try:
            tasks = parse(text, {"requirements.md": text})
        except ChangeError:
            continue
        lines = text.count("\n") + text.count("\r") + 1
        assert all(0 <= task.line <= lines for task in tasks.tasks)
        assert len(tasks.tasks) == sum(len(story.tasks) for story in stories_of(tasks).stories)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4), lambda inner: st.lists(inner, max_size=2)
)
STORIES = st.lists(
    st.fixed_dictionaries(
        {"title": st.text(min_size=1, max_size=4)},
        optional=dict.fromkeys(("id", "passes", "status", "notes", "priority", "steps", "dependsOn", "z"), VALUES),
    ),
    min_size=1,
    max_size=4,
)


@given(STORIES, st.sampled_from([None, 0, 1, 3]), st.text(max_size=5))
def test_a_recorded_prd_reads_as_recorded(stories: list[dict[str, object]], indent: int | None, evidence: str) -> None:
    text = json.dumps({"tasks": stories, "rest": [1, {"passes": False}]}, indent=indent)
    try:
        read = stories_of(parse_prd(text, {}))
    except ChangeError:
        return
    claim = accepted(read, read.stories[0].id, evidence)
    recorded = record_prd(text, claim)
    assert [one.complete for one in stories_of(parse_prd(recorded, {})).stories] == [
        one.complete for one in claim.stories.stories
    ]
    assert record_prd(recorded, claim) == recorded
    assert json.loads(recorded)["rest"] == [1, {"passes": False}]
