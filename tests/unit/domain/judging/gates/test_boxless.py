"""Tasks without a box: the promise reports them, and Spool notes them."""

from spool.domain.change.story import StoryList, parse_stories
from spool.domain.judging.gates.boxes import BoxLedger, after_acceptance, after_agent, after_person, honest
from spool.domain.loop.criteria import check_boxes, check_tasks

BOTH = parse_stories("## Form\n- [.] one\n- [.] two\n## Login\n- [.] three\n")


def test_they_are_open_until_their_story_is_accepted() -> None:
    ledger = after_person(BoxLedger(), BOTH)
    first = honest(ledger, BOTH).next
    assert first is not None and first.title == "Form" and first.boxless
    later = honest(after_acceptance(ledger, first), BOTH)
    assert [story.complete for story in later.stories] == [True, False]


def test_no_box_refuses_the_claim() -> None:
    assert check_boxes(BOTH.stories[0].open).passed
    assert check_tasks("- [.] one\n").passed


def test_items_that_an_agent_removes_are_still_to_do() -> None:
    ledger = after_agent(after_person(BoxLedger(), BOTH), StoryList())
    assert [story.title for story in honest(ledger, StoryList()).stories] == ["Form", "Login"]


def test_accepted_items_stay_done_after_the_agent_removes_them_and_when_others_are_added() -> None:
    ledger = after_acceptance(after_person(BoxLedger(), BOTH), BOTH.stories[0])
    assert [story.title for story in honest(ledger, StoryList()).stories] == ["Login"]
    more = parse_stories("## Form\n- [.] zero\n- [.] one\n- [.] two\n")
    assert [task.text for task in honest(after_person(ledger, more), more).stories[0].open] == ["zero"]


def test_no_agent_can_turn_a_box_into_an_item_without_one() -> None:
    boxed, without = parse_stories("- [ ] one\n"), parse_stories("- [.] one\n")
    ledger = after_agent(after_person(BoxLedger(), boxed), without)
    assert not check_tasks("- [.] one\n", ledger).passed
    assert not check_boxes(honest(ledger, without).stories[0].open).passed
