"""The list of loops on the page."""

from datetime import UTC, datetime

import pytest

from spool.domain.judging.gates.gate import Proof
from spool.domain.loop.plan_memory import PromptMemory
from spool.domain.loop.summary import LoopKind, LoopSummary, Runner
from spool.domain.loop.verdict import Status
from spool.web.links import Links
from spool.web.loop_list import list_panels


@pytest.mark.parametrize("proof", [None, Proof.WORD])
def test_a_loop_that_ended_on_the_agents_word_has_its_sign_and_colour(proof: Proof | None) -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    loop = LoopSummary(
        run_id="20260101T000000-59678a",
        door=LoopKind.RUN,
        change="add-auth",
        status=Status.DONE,
        reason="all stories are complete",
        memory=PromptMemory(proof=proof),
        runner=Runner(pid=1, start_time="", boot_id="", host=""),
        started_at=began,
        updated_at=began,
    )
    page = list_panels([loop], Links(""), datetime.now(UTC))["ended"]
    assert '<tr class="warn">' in page
    assert ">~<" in page
    assert "on the agent&#x27;s word: all stories are complete" in page
