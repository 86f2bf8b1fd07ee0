"""What an agent would stumble over in a change."""

import pytest

from spool.domain.change.advice import findings
from spool.domain.change.change import Change
from spool.domain.change.story import parse_stories

GOOD = "# Login\n\nPeople log in.\n"
TASKS = "## 1. Form\n\n- [ ] 1.1 Write\n- [ ] 1.2 Test\n"


def found(proposal: str = GOOD, tasks: str | None = TASKS, gates: int = 1) -> list[tuple[bool, str]]:
    change = Change(id="x", source=".spool", directory="x", proposal=proposal, tasks=tasks)
    return [(one.serious, one.what) for one in findings(change, parse_stories(tasks or ""), gates=gates)]


def test_a_good_change() -> None:
    assert found() == []


@pytest.mark.parametrize("proposal", ["", "# Login\n", "# Login\n\n## Why\n\n<!-- say it -->\n", "<!-- never closed"])
def test_an_empty_proposal(proposal: str) -> None:
    [(serious, what)] = found(proposal)
    assert serious and "says nothing" in what


@pytest.mark.parametrize(("tasks", "what"), [(None, "no tasks.md"), ("# Tasks\n", "no tasks in tasks.md")])
def test_no_tasks(tasks: str | None, what: str) -> None:
    assert found(tasks=tasks) == [(True, what)]


@pytest.mark.parametrize(
    ("tasks", "what"),
    [
        ("- [ ] a\n" * 5, "no groups: 5 tasks are one story"),
        ("## 1. A\n" + "".join(f"- [ ] 1.{n} a\n" for n in range(30)), "story 1 has 30 tasks"),
        ("## 1. A\n- [x] 1.1 a\n", "no task is open"),
        ("## 1. A\n- [ ] 1.1 a\n- [ ] 1.1 b\n", "two tasks have the same number: 1.1"),
        ("## 1. A\n- [ ] 1.1 a\n- [ ]\n", "tasks without a text: 1.2"),
    ],
)
def test_remarks(tasks: str, what: str) -> None:
    [(serious, said)] = found(tasks=tasks)
    assert not serious and said.startswith(what)


def test_a_section_of_prose_in_a_plan() -> None:
    plan = (
        "# P\n\nIntro.\n\n## One\n\n- [ ] a\n\n## Two\n\nBuild it.\n\n## Notes\n\nMind the gap.\n\n### Aside\n\nText.\n"
    )
    change = Change(id="P.md", source="plan", directory=".", proposal=plan, tasks=TASKS, plan_file="P.md")
    [one] = findings(change, parse_stories(TASKS), gates=1)
    assert not one.serious and "the section 'Two' has no list" in one.what


def test_no_check_comes_after_what_is_serious() -> None:
    assert [serious for serious, _ in found("", gates=0)] == [True, False]
