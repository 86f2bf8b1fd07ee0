"""When the stop hook sends an agent back, and when it gives up."""

import pytest

from spool.domain.judging.gates.hook import MOST_BLOCKS, Session, after_block, give_up

UNCHANGED = "the agent stopped again without a change"
OFTEN = f"the agent was sent back {MOST_BLOCKS} times"


@pytest.mark.parametrize(
    ("session", "tree", "active", "why"),
    [
        (Session(), "a", False, ""),
        (Session(blocked="a", blocks=1), "a", True, UNCHANGED),
        (Session(blocked="a", blocks=1), "a", False, UNCHANGED),
        (Session(blocked="a", blocks=1), "b", True, ""),
        (Session(blocked="a", blocks=MOST_BLOCKS), "b", True, OFTEN),
        (Session(blocked="a", blocks=MOST_BLOCKS), "b", False, ""),
        (Session(blocked="a", blocks=MOST_BLOCKS), "b", None, OFTEN),
        (Session(blocks=1), "", True, ""),
        (Session(blocks=MOST_BLOCKS), "", None, OFTEN),
    ],
    ids=[
        "first stop",
        "nothing changed",
        "nothing changed in a later turn",
        "another attempt",
        "too many attempts",
        "a new turn",
        "an agent that does not say",
        "without git",
        "without git, too many",
    ],
)
def test_a_refused_stop(session: Session, tree: str, active: bool | None, why: str) -> None:
    assert give_up(session, tree, active=active) == why


def test_a_new_turn_counts_blocks_from_the_start() -> None:
    session = after_block(after_block(Session(base="z"), "a", active=False), "b", active=True)
    assert (session.blocks, session.blocked, session.base) == (2, "b", "z")
    assert after_block(session, "c", active=False).blocks == 1
