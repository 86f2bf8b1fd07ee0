"""The plan of `ralph` and `wt-loop`, played on doubles."""

import pytest

from spool.domain.loop.criteria import Criterion
from spool.domain.loop.events import AgentEvent, Complete, RunEnded, Waiting
from spool.domain.loop.verdict import ExitCode, Limits, Status
from spool.testing.doubles import FakeTree, Said, says
from spool.testing.play import Played, Stage, play
from tests.unit.engine.plans.support import COMPLETE, TasksTree, prompt_plan

KEPT = says(f"Done.\n\n{COMPLETE}")
WORKING = says("Still working.")
CRASH = says("", exit_code=7)
BROKEN = says(COMPLETE, exit_code=1)


def ralph(*said: Said, limits: Limits | None = None) -> Played:
    stage = Stage()
    return play(prompt_plan(stage, limits or Limits()), *said, stage=stage)


@pytest.mark.parametrize(
    ("said", "limits", "ended"),
    [
        ([KEPT], Limits(), (1, Status.DONE, ExitCode.COMPLETE)),
        ([WORKING, WORKING, KEPT], Limits(), (3, Status.DONE, ExitCode.COMPLETE)),
        ([KEPT], Limits(min_iterations=3), (3, Status.DONE, ExitCode.COMPLETE)),
        ([WORKING], Limits(max_iterations=4), (4, Status.STUCK, ExitCode.EXHAUSTED)),
        ([CRASH], Limits(), (10, Status.STUCK, ExitCode.STUCK)),
        ([CRASH, CRASH, KEPT], Limits(), (3, Status.DONE, ExitCode.COMPLETE)),
        ([CRASH], Limits(fail_fast=True), (1, Status.STUCK, ExitCode.FAILED)),
        ([BROKEN], Limits(fail_fast=True), (1, Status.STUCK, ExitCode.FAILED)),
        ([BROKEN], Limits(), (1, Status.DONE, ExitCode.COMPLETE)),
    ],
    ids=["promise", "third", "minimum", "limit", "errors", "recovers", "fail-fast", "beside a promise", "exit code"],
)
def test_how_a_loop_over_a_prompt_ends(said: list[Said], limits: Limits, ended: tuple[int, Status, ExitCode]) -> None:
    played = ralph(*said, limits=limits)
    assert (len(played.history), played.finish.status, played.finish.exit_code) == ended
    assert [record.iteration for record in played.history] == list(range(1, ended[0] + 1))
    assert played.state.in_flight is None
    assert len(played.of(RunEnded)) == 1
    assert bool(played.of(Complete)) == (ended[1] is Status.DONE)


def test_errors_are_paused_after_and_the_pauses_grow() -> None:
    waits = [event.seconds for event in ralph(CRASH).of(Waiting)]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]


def test_what_the_agent_says_is_an_event_of_its_iteration() -> None:
    assert {event.iteration for event in ralph(WORKING, KEPT).of(AgentEvent)} == {1, 2}


def test_a_later_run_continues_the_numbers() -> None:
    stage = Stage()
    for expected in ([1, 2], [1, 2, 3, 4]):
        plan = prompt_plan(stage, Limits(max_iterations=2))
        assert [record.iteration for record in play(plan, WORKING, stage=stage).history] == expected


CRITERIA = [
    (Criterion.TASKS, {"tasks": "- [ ] 1.1 Write\n"}, ["agent ticks"], (1, Status.DONE)),
    (Criterion.TASKS, {"tasks": "- [x] 1.1 Write\n"}, [], (0, Status.DONE)),
    (Criterion.TASKS, {"tasks": "- [ ] 1.1 Write\n"}, [COMPLETE], (2, Status.STUCK)),
    (Criterion.COMMAND, {"exit_code": 0}, ["Working."], (1, Status.DONE)),
    (Criterion.COMMAND, {"exit_code": 1}, [COMPLETE], (2, Status.STUCK)),
    (Criterion.COMMAND, {"exit_code": None}, [COMPLETE], (2, Status.STUCK)),
    (Criterion.PROMISE, {}, [COMPLETE], (1, Status.DONE)),
    (Criterion.MANUAL, {}, [COMPLETE], (2, Status.STUCK)),
    (Criterion.MANUAL, {"marked_done": True}, [], (0, Status.DONE)),
]


@pytest.mark.parametrize(("criterion", "world", "output", "ended"), CRITERIA)
def test_the_criterion_decides(
    criterion: Criterion, world: dict[str, object], output: list[str], ended: tuple[int, Status]
) -> None:
    tree = TasksTree(str(world.get("tasks", "")))
    stage = Stage(tree=tree if "tasks" in world else FakeTree())
    said = [tree.ticks("1.1 Write", output="") if text == "agent ticks" else says(text) for text in output]
    plan = prompt_plan(stage, Limits(max_iterations=2), criterion=criterion, command="true", **world)  # type: ignore[arg-type]
    played = play(plan, *(said or [WORKING]), stage=stage)
    assert (len(played.history), played.finish.status) == ended


def test_a_gate_is_recorded_with_the_iteration_it_judged() -> None:
    stage = Stage()
    plan = prompt_plan(stage, Limits(max_iterations=1), criterion=Criterion.COMMAND, command="true", exit_code=3)
    (record,) = play(plan, WORKING, stage=stage).history
    assert [(gate.name, gate.passed, gate.why) for gate in record.gates] == [
        ("command", False, "'true' exited with code 3")
    ]


def test_work_is_committed_before_the_gate_sees_it() -> None:
    tree = FakeTree()
    stage = Stage(tree=tree)
    plan = prompt_plan(stage, Limits(max_iterations=1), criterion=Criterion.COMMAND, command="make")
    seen: list[int] = []

    async def check() -> int | None:
        seen.append(len(tree.commits))
        return 0

    plan.run_command = check
    works = says("Done.", work=lambda: setattr(tree, "content", "work"))
    (record,) = play(plan, works, stage=stage, auto_commit=True).history
    assert (seen, record.commit) == ([1], "commit-1")


def test_a_gate_that_passes_is_done_whatever_became_of_the_agent() -> None:
    stage = Stage()
    limits = Limits(fail_fast=True, max_tokens=1)
    plan = prompt_plan(stage, limits, criterion=Criterion.COMMAND, command="make", exit_code=0)
    assert play(plan, CRASH, stage=stage).finish.status is Status.DONE
