"""Boxes, compared with the list that a person left."""

import pytest

from spool.domain.change.story import StoryList, parse_stories
from spool.domain.judging.gates.boxes import BoxLedger, after_agent, after_person, honest

LIST = "## 1. Form\n\n- [ ] 1.1 Draw it\n- [ ] 1.2 Test it\n\n## 2. Login\n\n- [ ] 2.1 Check it\n"


def left_open(ledger: BoxLedger, text: str) -> list[str]:
    return [task.id for story in honest(ledger, parse_stories(text)).stories for task in story.open]


def started(text: str = LIST) -> BoxLedger:
    return after_person(BoxLedger(), parse_stories(text))


TICKED = LIST.replace("[ ]", "[x]")


@pytest.mark.parametrize(
    ("text", "still_open"),
    [
        (TICKED, []),
        (LIST.replace("[ ] 1.1", "[x] 1.1"), ["1.2", "2.1"]),
        (LIST.replace("[ ]", "[-]"), ["1.1", "1.2", "2.1"]),
        (TICKED.replace("Test it", "nothing"), ["1.2"]),
        (TICKED.replace("- [x] 1.2 Test it\n", ""), ["1.2"]),
        (f"```\n{TICKED}```\n", ["1.1", "1.2", "2.1"]),
        (TICKED + "- [ ] 2.2 One more\n", ["2.2"]),
        (TICKED + "- [x] 2.2 One more\n", []),
        ("", ["1.1", "1.2", "2.1"]),
        (TICKED.replace("Draw it", "Draw  it"), []),
    ],
    ids=[
        "ticked",
        "partly",
        "set aside",
        "reworded",
        "removed",
        "fenced",
        "added",
        "added and done",
        "emptied",
        "space",
    ],
)
def test_an_agent_may_tick_and_add(text: str, still_open: list[str]) -> None:
    assert left_open(started(), text) == still_open


def test_a_removed_story_comes_back() -> None:
    found = honest(started(), parse_stories("## 2. Login\n\n- [x] 2.1 Check it\n"))
    assert [(story.id, story.title, story.complete) for story in found.stories] == [
        ("2", "Login", True),
        ("1", "Form", False),
    ]


def test_what_a_person_changes_between_iterations_counts() -> None:
    ledger = after_agent(started(), parse_stories(TICKED.replace("Test it", "nothing")))
    persons = (
        TICKED.replace("- [x] 1.2 Test it\n", "").replace("Check it", "Check it well").replace("[x] 2.1", "[ ] 2.1")
    )
    ledger = after_person(ledger, parse_stories(persons))
    assert left_open(ledger, persons) == ["1.2", "2.1"]


def test_a_person_may_set_a_box_aside() -> None:
    ledger = after_agent(started(), parse_stories(LIST))
    ledger = after_person(ledger, parse_stories(LIST.replace("[ ] 1.1", "[-] 1.1")))
    assert left_open(ledger, TICKED.replace("[x] 1.1", "[-] 1.1")) == []


def test_what_an_agent_sets_aside_stays_open_however_long_ago() -> None:
    aside = LIST.replace("[ ] 1.1", "[-] 1.1")
    ledger = after_agent(started(), parse_stories(aside))
    ledger = after_person(ledger, parse_stories(aside))
    assert left_open(after_agent(ledger, parse_stories(aside)), aside) == ["1.1", "1.2", "2.1"]


def test_boxes_for_a_person_are_not_owed() -> None:
    text = LIST.replace("[ ] 1.1", "[?] 1.1")
    assert left_open(started(text), text.replace("[ ]", "[x]")) == []


def test_an_empty_list_owes_nothing() -> None:
    assert honest(BoxLedger(), StoryList()) == StoryList()


EQUAL = "## 1. Form\n\n- [ ] Write it\n- [ ] Test it\n\n## 2. Login\n\n- [ ] Write it\n- [ ] Test it\n"
EQUAL_TICKED = EQUAL.replace("[ ]", "[x]")


@pytest.mark.parametrize(
    ("text", "still_open"),
    [
        (EQUAL_TICKED, []),
        ("## 1. Form\n\n- [x] Write it\n- [x] Test it\n", ["2.1", "2.2"]),
        (EQUAL_TICKED.replace("- [x] Test it\n", "", 1), ["2.2"]),
        (EQUAL_TICKED.replace("## 1. Form\n\n", "## 1. Form\n\n- [x] Plan it\n"), []),
        ("## 1. All\n\n" + "- [x] Write it\n- [x] Test it\n" * 2, []),
        (EQUAL_TICKED.replace("[x] Write", "[-] Write", 1), ["1.1"]),
    ],
    ids=["ticked", "a story removed", "one removed", "one added before them", "put together", "set aside"],
)
def test_boxes_without_numbers_are_counted_by_their_words(text: str, still_open: list[str]) -> None:
    assert left_open(started(EQUAL), text) == still_open


def test_of_equal_boxes_the_open_one_is_owed_whichever_is_removed() -> None:
    ledger = started("## 1. Form\n\n- [ ] Test it\n- [x] Test it\n")
    assert left_open(ledger, "## 1. Form\n\n- [x] Test it\n") == ["1.1"]
    assert left_open(ledger, "## 1. Form\n\n- [x] Test it\n- [x] Test it\n") == []
