"""Where a loop stands, and what starts one."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from spool.domain.agent.stream import Usage
from spool.domain.change.workspaces import Kind, Workspace
from spool.domain.judging.gates.gate import Proof, proof_together
from spool.domain.loop.criteria import Criterion
from spool.domain.loop.plan_memory import PromptMemory, StoryMemory
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec, Show
from spool.domain.loop.state import InFlight, IterationRecord, LoopState, UnfinishedIteration, continued, unfinished
from spool.domain.loop.summary import (
    DIED,
    LoopKind,
    LoopSummary,
    Phase,
    Runner,
    pick_latest,
    settled,
    state_path,
    summarized,
)
from spool.domain.loop.verdict import Limits, Status

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = BEGAN + timedelta(minutes=5)
RUNNING = LoopState(
    run_id="20260101T000000-59678a",
    door=LoopKind.RUN,
    change="add-auth",
    project="/work/project",
    status=Status.RUNNING,
    phase=Phase.AGENT,
    waiting_until=LATER,
    run_iteration=3,
    memory=StoryMemory(),
    limits=Limits(max_iterations=10, max_cost_usd=5.0),
    usage=Usage(tokens_in=1_000, cost_usd=0.5),
    runner=Runner(pid=1, start_time="", boot_id="", host=""),
    started_at=BEGAN,
    updated_at=BEGAN,
)
BEGUN = InFlight(iteration=4, run_id=RUNNING.run_id, started_at=BEGAN, harness="claude")
ON_A_BRANCH = Workspace(kind=Kind.CLONE, path="/clone", repository="/work/project/.git", branch="b", base="c")


def replaced(loop: LoopState, **changed: object) -> LoopState:
    return msgspec.structs.replace(loop, **changed)


def test_a_loop_whose_runner_died_is_stopped_since_it_was_last_seen() -> None:
    found = settled(RUNNING, alive=False, last_seen=LATER)
    assert (found.status, found.reason, found.phase, found.waiting_until) == (Status.STOPPED, DIED, None, None)
    assert (found.ended_at, found.running) == (LATER, False)
    assert settled(RUNNING, alive=False, last_seen=BEGAN - timedelta(days=1)).ended_at == BEGAN


def test_a_loop_whose_runner_lives_runs() -> None:
    assert settled(RUNNING, alive=True) == RUNNING


@pytest.mark.parametrize("alive", [True, False])
@pytest.mark.parametrize("status", [Status.DONE, Status.STUCK, Status.STOPPED])
def test_a_loop_that_has_ended_keeps_its_end(status: Status, alive: bool) -> None:
    ended = replaced(RUNNING, status=status, reason="because", phase=Phase.ENDED, updated_at=LATER)
    found = settled(ended, alive=alive)
    assert (found.status, found.reason, found.phase, found.ended_at) == (status, "because", None, LATER)


def test_figures_that_follow_from_others() -> None:
    assert (RUNNING.id, RUNNING.name) == ("59678a", "project")
    assert RUNNING.age_s(LATER) == 300.0
    assert msgspec.structs.replace(RUNNING, earlier_s=60.5).elapsed_s(LATER) == 360.5
    capacity = RUNNING.capacity
    assert (capacity.iterations, capacity.max_iterations) == (3, 10)
    assert (capacity.tokens, capacity.max_tokens) == (1_000, None)
    assert (capacity.cost, capacity.max_cost) == (0.5, 5.0)


def test_a_running_loop_comes_before_one_that_was_active_later() -> None:
    ended = replaced(RUNNING, status=Status.DONE, updated_at=LATER)
    assert pick_latest([ended, RUNNING]) is RUNNING
    assert pick_latest([replaced(ended, updated_at=BEGAN), ended]) is ended
    assert pick_latest([]) is None


def test_a_summary_survives_json_without_what_only_the_runner_needs() -> None:
    data = msgspec.json.encode(summarized(replaced(RUNNING, in_flight=BEGUN)))
    assert b"in_flight" not in data
    assert msgspec.json.decode(data, type=LoopSummary) == summarized(RUNNING)


def spec(door: LoopKind, settings: Settings) -> LoopSpec:
    return LoopSpec(run_id="1", door=door, change="add-auth", root="/work/a b/", settings=settings, show=Show.JSON)


def test_a_spec_survives_json() -> None:
    settings = Settings(harnesses={"mine": {"argv": ["a", "ü"]}}, terminal=("xterm", "-e"))
    made = spec(LoopKind.WORKTREE, settings)
    assert msgspec.json.decode(msgspec.json.encode(made), type=LoopSpec) == made
    assert made.folder == state_path("/work/a b", "wt-loop", "add-auth") == "/work/a b/.spool/.state/wt-loop/add-auth"


def test_the_limits_of_each_door() -> None:
    ralph = spec(LoopKind.RALPH, Settings(max_iterations=7, fail_fast=True)).limits
    assert (ralph.max_iterations, ralph.error_threshold, ralph.fail_fast) == (7, 10, True)
    assert spec(LoopKind.RALPH, Settings()).limits.max_iterations == 50
    assert spec(LoopKind.RALPH, Settings(max_iterations=0)).limits.max_iterations is None
    run = spec(LoopKind.RUN, Settings(max_iterations=7)).limits
    assert (run.max_iterations, run.error_threshold) == (None, 0)
    task = msgspec.structs.replace(
        spec(LoopKind.WORKTREE, Settings(max_tokens=9, stall_iterations=2)), criterion=Criterion.TASKS
    )
    assert (task.limits.max_tokens, task.limits.stall, task.limits.error_threshold) == (9, 2, 10)
    manual = msgspec.structs.replace(task, criterion=Criterion.MANUAL)
    assert manual.limits.error_threshold == 0


@pytest.mark.parametrize(
    ("status", "kept"),
    [(Status.RUNNING, True), (Status.STOPPED, True), (Status.STUCK, False), (Status.DONE, False)],
)
def test_a_killed_or_stopped_run_continues_with_its_attempt(status: Status, kept: bool) -> None:
    memory = msgspec.structs.replace(RUNNING.memory, retries=2, own_words="red")
    earlier = replaced(RUNNING, status=status, memory=memory, iteration=4)
    found = continued(RUNNING, earlier, last_iteration=5)
    assert found.memory == (memory if kept else RUNNING.memory)
    assert (found.iteration, found.usage) == (5, earlier.usage)
    assert continued(RUNNING, replaced(earlier, earlier_s=7.0, ended_at=LATER)).earlier_s == 307.0
    in_flight = continued(RUNNING, replaced(earlier, in_flight=BEGUN))
    assert (in_flight.memory, in_flight.in_flight) == (memory, BEGUN)


@pytest.mark.parametrize("workspace", [None, ON_A_BRANCH])
@pytest.mark.parametrize(
    ("door", "proof", "kept"),
    [
        (LoopKind.RUN, Proof.PROVED, Proof.PROVED),
        (LoopKind.RUN, Proof.UNBROKEN, Proof.UNBROKEN),
        (LoopKind.RUN, Proof.WORD, None),
        (LoopKind.RALPH, Proof.PROVED, None),
    ],
)
def test_stories_that_were_verified_stay_so(
    door: LoopKind, proof: Proof, kept: Proof | None, workspace: Workspace | None
) -> None:
    memory = StoryMemory(proof=proof, retries=2) if door is LoopKind.RUN else PromptMemory(proof=proof, idle=2)
    earlier = replaced(RUNNING, status=Status.DONE, memory=memory, workspace=workspace, door=door)
    found = continued(RUNNING, earlier)
    assert found.memory == msgspec.structs.replace(type(memory)(), proof=kept)


@pytest.mark.parametrize(
    ("earlier", "latest", "together"),
    [
        (None, Proof.PROVED, Proof.PROVED),
        (Proof.PROVED, Proof.UNBROKEN, Proof.UNBROKEN),
        (Proof.UNBROKEN, Proof.PROVED, Proof.UNBROKEN),
        (Proof.UNBROKEN, Proof.WORD, Proof.WORD),
        (Proof.WORD, Proof.PROVED, Proof.WORD),
        (None, None, None),
    ],
)
def test_stories_together_are_no_surer_than_the_least_of_them(
    earlier: Proof | None, latest: Proof | None, together: Proof | None
) -> None:
    assert proof_together(earlier, latest) is together


def test_an_iteration_in_flight_is_as_far_as_it_is_on_disk() -> None:
    killed = replaced(RUNNING, in_flight=BEGUN)
    died = unfinished(killed, None, now=LATER)
    assert died is not None
    assert (died.record.iteration, died.record.outcome, died.record.duration_s) == (4, "interrupted", 300.0)
    assert not died.recorded
    over: IterationRecord = msgspec.structs.replace(died.record, reason="over")
    assert unfinished(killed, over, now=LATER) == UnfinishedIteration(over, recorded=True)
    in_gates = replaced(RUNNING, in_flight=msgspec.structs.replace(BEGUN, ended=over))
    assert unfinished(in_gates, None, now=LATER) == UnfinishedIteration(over, recorded=False)
    assert unfinished(RUNNING, over, now=LATER) is None
