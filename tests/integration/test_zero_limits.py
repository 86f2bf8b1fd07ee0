"""0 turns a limit off, whichever it is: a row for each setting that is one; for `large_file_mb` see test_tree.py."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from spool.domain.agent.invocation import Patience
from spool.domain.agent.stream import Usage
from spool.domain.loop.budget import exceeded
from spool.domain.loop.criteria import Criterion
from spool.domain.loop.outcome import Outcome, OutcomeKind
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind
from spool.domain.loop.verdict import Continue, Tally, judge_prompt
from spool.engine.agent_limits import AgentLimits
from spool.host.external_command import run_command
from spool.testing.doubles import ManualClock

MUCH = 1 << 40
NO_LIMITS = {
    "min_iterations": "a least number",
    "max_retries": "a number of tries: 0 means none",
    "max_repairs": "a number of tries: 0 means none",
    "error_pause": "a pause",
    "rate_limit_pause": "a pause; 0 ends the loop instead of waiting",
    "notice_wait": "the least wait that is a notice; 0 means none",
}


def spec_of(settings: Settings) -> LoopSpec:
    return LoopSpec(
        run_id="r", door=LoopKind.RALPH, change="c", root="/", settings=settings, criterion=Criterion.COMMAND
    )


def in_the_loop(settings: Settings) -> None:
    """Judge the iteration after a great many failed ones without progress."""
    settings = msgspec.structs.replace(settings, max_iterations=0, error_threshold=0, stall_iterations=0)
    verdict = judge_prompt(
        Outcome(kind=OutcomeKind.HARNESS_ERROR),
        Tally(run_iterations=MUCH, errors_in_row=MUCH),
        spec_of(settings).limits,
        done="", idle=MUCH, now=0.0, jitter=lambda: 0.0,
    )  # fmt: skip
    assert isinstance(verdict, Continue)


def of_spending(settings: Settings) -> None:
    usage = Usage(tokens_in=MUCH, tokens_out=MUCH, cost_usd=float(MUCH))
    assert exceeded(spec_of(settings).limits, usage, run_s=float(MUCH), today=usage) is None


def of_an_agent(settings: Settings) -> None:
    others = dict.fromkeys(("iteration_timeout", "idle_timeout", "promise_grace", "output_limit_mb"), 0)
    settings = msgspec.structs.replace(settings, **others)
    patience = Patience(
        iteration_s=settings.iteration_timeout,
        idle_s=settings.idle_timeout,
        promise_grace_s=settings.promise_grace,
        output_bytes=settings.output_limit_mb << 20,
        memory_bytes=settings.agent_memory,
    )
    clock = ManualClock()
    watch = AgentLimits(patience, clock)
    for _ in range(1_000):
        clock.advance(1_000)
        watch.tick(heard=False)
    assert watch.verdict(promised=True, printed=MUCH) is None


def of_git(settings: Settings) -> None:
    done = asyncio.run(run_command(["sleep", "0.05"], directory=Path("/"), timeout_s=settings.command_timeout))
    assert done.exit_code == 0


def of_a_check(settings: Settings) -> None:
    assert spec_of(settings).gates[0].timeout == 0  # the gate host waits for ever


LIMITS: dict[str, Callable[[Settings], None]] = {
    "max_iterations": in_the_loop,
    "error_threshold": in_the_loop,
    "stall_iterations": in_the_loop,
    "iteration_timeout": of_an_agent,
    "idle_timeout": of_an_agent,
    "promise_grace": of_an_agent,
    "output_limit_mb": of_an_agent,
    "agent_memory": of_an_agent,
    "command_timeout": of_git,
    "done_command_timeout": of_a_check,
    "max_tokens": of_spending,
    "max_cost_usd": of_spending,
    "max_duration": of_spending,
    "max_tokens_per_day": of_spending,
    "max_cost_per_day": of_spending,
}


@pytest.mark.parametrize("name", LIMITS)
def test_zero_turns_the_limit_off(name: str) -> None:
    LIMITS[name](msgspec.structs.replace(Settings(), **{name: 0}))


def test_every_number_among_the_settings_is_a_limit_or_has_a_meaning_of_its_own() -> None:
    numbers = {name for name, value in msgspec.structs.asdict(Settings()).items() if type(value) in (int, float)}
    numbers |= {"max_iterations", "stall_iterations"}
    assert numbers == {*LIMITS, "large_file_mb", *NO_LIMITS}
