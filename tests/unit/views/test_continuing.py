"""A loop that a limit has ended says which flag and which command continue it."""

import msgspec
import pytest

from spool.domain.budget import Limit
from spool.domain.loop import Door, LoopSummary, Runner
from spool.domain.stream import Usage
from spool.domain.verdict import Limits
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
@pytest.mark.parametrize("door", list(Door))
def test_every_limit_has_words(limit: Limit, door: Door) -> None:
    assert continue_hint(msgspec.structs.replace(LOOP, limit=limit, door=door))
    assert continue_hint(LOOP) == ""


@pytest.mark.parametrize(
    ("door", "limit", "again", "command"),
    [
        (Door.RALPH, Limit.COST, "spool ralph 'Do it' -c a", "spool ralph 'Do it' -c a --max-cost 3.51"),
        (Door.RALPH, Limit.COST, "spool ralph Go --max-cost 1.5 -c a", "spool ralph Go -c a --max-cost 3.51"),
        (Door.RALPH, Limit.COST, "spool ralph Go --max-cost=1.5 -c a", "spool ralph Go -c a --max-cost 3.51"),
        (Door.WORKTREE, Limit.TOKENS, "wt-loop resume a", "wt-loop resume a --max-tokens 220"),
        (Door.RUN, Limit.DURATION, "spool run a", "spool run a --on-resume keep"),
        (Door.RUN, Limit.TOKENS, "spool run a --on-resume revert", "spool run a --max-tokens 220 --on-resume keep"),
        (Door.RALPH, Limit.STALL, "spool ralph Go -c a", "spool ralph Go -c a"),
    ],
)
def test_the_command_allows_as_much_again(door: Door, limit: Limit, again: str, command: str) -> None:
    loop = msgspec.structs.replace(LOOP, door=door, limit=limit)
    assert continue_command(again, loop) == command
