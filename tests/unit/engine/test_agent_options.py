"""The conversation that the next run of an agent continues."""

import pytest

from spool.domain.agent.invocation import AgentRequest
from spool.engine.agent_limits import Patience
from spool.engine.agent_options import AgentOptions
from spool.harness.own_command import CommandOptions, command


@pytest.mark.parametrize(
    ("resume", "said", "session"), [(True, "new", "new"), (True, "", "old"), (False, "new", "old")]
)
def test_the_last_conversation_is_continued_where_that_is_wanted(resume: bool, said: str, session: str) -> None:
    harness = command("fake", CommandOptions(argv=("fake",)))
    request = AgentRequest(directory=".", session="old")
    options = AgentOptions(harness=harness, request=request, patience=Patience(), resume=resume)
    assert options.continuing(said).request.session == session
