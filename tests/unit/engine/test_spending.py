"""Budgets and stalls on the doubles: time, days, waits, and what is said about limits that cannot be kept."""

from functools import partial

import msgspec
import pytest

from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.gate import GateResult, Proof
from spool.domain.loop.budget import Limit
from spool.domain.loop.events import RunEnded, Waiting, Warned
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.plan_memory import PromptMemory
from spool.domain.loop.verdict import ExitCode, Limits, Status, Tally
from spool.engine.plans.prompt_plan import PromptPlan
from spool.testing.doubles import FakeTree, MemoryExpenses, Said, says
from spool.testing.play import Played, Stage, play
from tests.support.scene import record
from tests.unit.engine.plans.support import prompt_plan


class NoCommits:
    """The HEAD of a repository to which nobody commits."""

    async def head(self) -> str:
        return "head"

    async def commits(self, before: str, after: str) -> tuple[str, ...]:
        return ()


def measured(stage: Stage, limits: Limits) -> PromptPlan:
    return prompt_plan(stage, limits, heads=NoCommits())


def works(stage: Stage, seconds: float) -> Said:
    return says("Working.", work=lambda: stage.clock.advance(seconds))


def loop(limits: Limits, *said: Said, stage: Stage) -> Played:
    return play(prompt_plan(stage, limits), *said, stage=stage)


def test_the_time_of_a_run_ends_it_and_the_next_run_has_its_own() -> None:
    stage = Stage()
    limits = Limits(max_duration_s=100)
    played = loop(limits, works(stage, 40), stage=stage)
    assert (len(played.history), played.finish.status, played.finish.exit_code) == (3, Status.STUCK, ExitCode.STUCK)
    assert played.finish.limit is played.state.limit is Limit.DURATION
    again = loop(limits, works(stage, 40), stage=stage)
    assert (len(again.history), again.state.receipt.agent_s) == (6, 240.0)


def test_a_pause_is_cut_at_the_time_limit() -> None:
    stage = Stage()
    limits = Limits(max_duration_s=100, error_pause_s=60, error_threshold=0)
    crash = says("", exit_code=7, work=lambda: stage.clock.advance(30))
    played = loop(limits, crash, stage=stage)
    assert [waiting.seconds for waiting in played.of(Waiting)] == [10.0]
    assert played.finish.limit is Limit.DURATION
    (ended,) = played.of(RunEnded)
    assert ended.receipt == played.state.receipt
    assert (played.state.receipt.waits_s, played.state.receipt.agent_s) == (10.0, 90.0)


def test_what_other_loops_spent_today_counts() -> None:
    stage = Stage(expenses=MemoryExpenses(Usage(cost_usd=1.0)))
    played = loop(Limits(max_cost_per_day=1.0), says("Working."), stage=stage)
    assert (played.history, played.finish.limit) == ((), Limit.COST_PER_DAY)


def test_a_limit_that_cannot_be_kept_is_announced_once() -> None:
    played = loop(Limits(max_cost_usd=1, max_tokens=9, max_iterations=3), says("Working."), stage=Stage())
    assert [warned.message for warned in played.of(Warned)] == [
        "fake reports no cost, so the cost limit cannot be kept",
        "fake reports no tokens, so the token limit cannot be kept",
    ]
    assert loop(Limits(max_iterations=1), says("Working."), stage=Stage()).of(Warned) == []


@pytest.mark.parametrize(
    ("contents", "progress"),
    [
        (["a", "b", "c", "d", "d", "d", "d"], [True, True, True, True, False, False, False]),
        (["a", "b", "a", "b", "a"], [True, True, False, False, False]),
        (["a", "start", "a", "start"], [True, False, False, False]),
        (["a", "b", "a", "c", "a", "b", "a"], [True, True, False, True, False, False, False]),
    ],
    ids=["nothing changes", "back and forth", "back to the start", "something new in between"],
)
def test_progress_is_a_tree_that_was_not_there_before(contents: list[str], progress: list[bool]) -> None:
    tree = FakeTree("start")
    stage = Stage(tree=tree)
    said = [says("I did a lot.", work=partial(setattr, tree, "content", text)) for text in contents]
    played = play(measured(stage, Limits(stall=3)), *said, stage=stage)
    assert [record.progress for record in played.history] == progress
    assert (played.finish.exit_code, played.finish.limit) == (ExitCode.STUCK, Limit.STALL)
    asked = ["## Take another approach" in prompt for prompt in played.prompts]
    assert asked == [False] * (len(progress) - 1) + [True]


def test_fewer_failing_tests_are_progress() -> None:
    plan = measured(Stage(), Limits(stall=9))
    memory = PromptMemory()
    idle = []
    for failing in (("a", "b", "c"), ("a", "b"), ("a", "b"), ("a",)):
        gate = GateResult(name="tests", passed=False, why="red", failing=failing)
        claimed = record(1, "1", 1, OutcomeKind.COMPLETED, gates=(gate,))
        refused = msgspec.structs.replace(claimed, proof=Proof.REFUSED, progress=False)
        memory = plan.judge(memory, refused, Tally(run_iterations=1), used=Usage(), now=0.0).memory
        idle.append(memory.idle)
    assert idle == [1, 0, 1, 0]


def test_a_stall_of_one_needs_no_other_approach() -> None:
    stage = Stage()
    played = play(measured(stage, Limits(stall=1)), says("Hm."), stage=stage)
    assert (len(played.history), "another approach" in played.prompts[0]) == (1, False)
