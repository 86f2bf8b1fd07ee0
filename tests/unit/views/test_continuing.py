"""A loop that a limit has ended says which flag and which command continue it."""

import msgspec
import pytest

from spool.domain.agent.stream import Usage
from spool.domain.loop.budget import Limit
from spool.domain.loop.summary import LoopKind, LoopSummary, Runner
from spool.domain.loop.verdict import Limits
from spool.testing.doubles import START
from spool.views.continuing import continue_command, continue_hint

LOOP = LoopSummary(
    run_id="r",
    change="a",
    limits=Limits(max_cost_usd=1.5, max_tokens=100),
    usage=Usage(tokens_in=120, cost_usd=2.001),
    runner=Runner(pid=1, start_time="", boot_id="", host=""),
    started_at=START,
    updated_at=START,
)


@pytest.mark.parametrize("limit", list(Limit))
@pytest.mark.parametrize("door", list(LoopKind))
def test_every_limit_has_words(limit: Limit, door: LoopKind) -> None:
    assert continue_hint(msgspec.structs.replace(LOOP, limit=limit, door=door))
    assert continue_hint(LOOP) == ""


@pytest.mark.parametrize(
    ("door", "limit", "again", "command"),
    [
        (LoopKind.RALPH, Limit.COST, "spool ralph 'Do it' -c a", "spool ralph 'Do it' -c a --max-cost 3.51"),
        (LoopKind.RALPH, Limit.COST, "spool ralph Go --max-cost 1.5 -c a", "spool ralph Go -c a --max-cost 3.51"),
        (LoopKind.RALPH, Limit.COST, "spool ralph Go --max-cost=1.5 -c a", "spool ralph Go -c a --max-cost 3.51"),
        (LoopKind.WORKTREE, Limit.TOKENS, "wt-loop resume a", "wt-loop resume a --max-tokens 220"),
        (LoopKind.RUN, Limit.DURATION, "spool run a", "spool run a --on-resume keep"),
        (LoopKind.RUN, Limit.TOKENS, "spool run a --on-resume revert", "spool run a --max-tokens 220 --on-resume keep"),
        (LoopKind.RALPH, Limit.STALL, "spool ralph Go -c a", "spool ralph Go -c a"),
    ],
)
def test_the_command_allows_as_much_again(door: LoopKind, limit: Limit, again: str, command: str) -> None:
    loop = msgspec.structs.replace(LOOP, door=door, limit=limit)
    assert continue_command(again, loop) == command
