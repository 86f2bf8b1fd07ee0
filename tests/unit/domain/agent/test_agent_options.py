"""The conversation that the next run of an agent continues."""

import pytest

from spool.domain.agent.invocation import AgentOptions


@pytest.mark.parametrize(
    ("resume", "said", "session"), [(True, "new", "new"), (True, "", "old"), (False, "new", "old")]
)
def test_the_last_conversation_is_continued_where_that_is_wanted(resume: bool, said: str, session: str) -> None:
    options = AgentOptions(directory=".", session="old", resume=resume)
    assert options.continuing(said).session == session
