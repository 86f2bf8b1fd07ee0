"""Where a loop stands, from its events alone."""

from datetime import timedelta

import msgspec
import pytest

from spool.domain.account.progress import LoopProgress, StoryMark
from spool.domain.change.story import parse_stories
from spool.domain.judging.gates.gate import GatePurpose, GateResult
from spool.domain.loop.events import (
    CheckpointSaved,
    Event,
    GateEnded,
    GateStarted,
    IterationEnded,
    Reverted,
    RunEnded,
    RunStarted,
    StopRequested,
    StoryProgress,
    Waiting,
)
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.verdict import Limits, Status
from spool.tui.looks import state_of
from tests.support.scene import CHANGE, START, TASKS, begun, finished, gated, half_way, record, stuck


def folded(events: list[Event]) -> LoopProgress:
    progress = LoopProgress(CHANGE)
    for event in events:
        progress.fold(event)
    return progress


def is_story(event: Event) -> bool:
    return isinstance(event, StoryProgress)


def marks(progress: LoopProgress) -> dict[str, StoryMark]:
    return {story.id: story.mark for story in progress.stories.values()}


def test_half_way() -> None:
    progress = folded(half_way())
    progress.know(parse_stories(TASKS))
    assert marks(progress) == {"1": StoryMark.DONE, "2": StoryMark.RUNNING, "3": StoryMark.WAITING}
    assert (progress.current, progress.iteration, progress.attempt, progress.completed) == ("2", 3, 2, 1)
    assert [(one.number, one.outcome) for one in progress.history.of_story("2")] == [(1, "failed"), (2, "")]
    assert progress.history.of_story("2")[0].reason == "the test client sends no headers"
    assert len([one for one in progress.history.attempts if one.outcome]) == 2
    assert state_of(progress, over=False) == "running"


def test_done() -> None:
    progress = folded(half_way() + finished())
    assert set(marks(progress).values()) == {StoryMark.DONE}
    assert state_of(progress, over=True) == "done"
    assert progress.usage.cost_usd is not None


def test_stuck() -> None:
    progress = folded(half_way() + stuck())
    assert marks(progress)["2"] is StoryMark.FAILED
    assert progress.error is not None
    assert progress.error.kept == "2"


def test_a_runner_that_died_is_stopped() -> None:
    assert state_of(folded(half_way()), over=True) == "stopped"


def test_a_new_run_begins_anew() -> None:
    events: list[Event] = [
        *half_way(),
        StopRequested(by="SIGTERM"),
        RunEnded(status=Status.STOPPED, reason="stopped", exit_code=130),
        RunStarted(change=CHANGE, harness="claude", model=None, limits=Limits(), iteration=3),
    ]
    progress = folded(events)
    assert not progress.stop_pending
    assert progress.ended is None
    assert marks(progress)["2"] is StoryMark.WAITING


def test_events_are_counted_per_story() -> None:
    progress = folded(half_way())
    progress.know(parse_stories(""))
    assert list(progress.stories) == ["1", "2"]


def test_a_revert_takes_back_what_its_attempt_changed() -> None:
    progress = folded(half_way())
    assert progress.stories["1"].files
    assert progress.stories["2"].files == ()


def test_a_revert_keeps_what_its_checkpoint_has() -> None:
    kept = record(3, "2", 2, OutcomeKind.COMPLETED)
    events = [*half_way(), IterationEnded(record=kept), CheckpointSaved(story_id="2", tree="x")]
    failed = msgspec.structs.replace(record(4, "2", 3, OutcomeKind.FAILED), files=("other.py",))
    progress = folded([*events, IterationEnded(record=failed), Reverted(story_id="2", kept_as="name")])
    assert progress.stories["2"].files == tuple(sorted(kept.files))


def test_a_wait_for_a_rate_limit_is_no_attempt() -> None:
    limited = record(3, "2", 2, OutcomeKind.RATE_LIMITED)
    assert folded([*half_way(), IterationEnded(record=limited)]).stories["2"].attempts == 1


def test_a_claim_that_a_gate_refused_is_not_completed() -> None:
    gate = GateResult(name="tasks", passed=False, why="boxes are open: 2.1")
    refused = msgspec.structs.replace(record(3, "2", 2, OutcomeKind.COMPLETED), gates=(gate,))
    last = folded([*half_way(), IterationEnded(record=refused)]).history.of_story("2")[-1]
    assert (last.outcome, last.reason) == ("refused", "boxes are open: 2.1")


def test_a_gate_that_is_red_as_before_and_refuses_nothing_is_passed() -> None:
    gates = (
        GateResult(name="pytest", passed=True, why="no worse"),
        GateResult(name="types", passed=False, why="worse"),
    )
    claimed: list[Event] = [
        GateEnded(gate="pytest", purpose=GatePurpose.CLAIM, green=False, duration_s=3.0),
        IterationEnded(record=record(3, "2", 2, OutcomeKind.COMPLETED, gates=gates)),
    ]
    story = folded(gated() + claimed).stories["2"]
    assert {name: (gate.green, gate.since) for name, gate in story.gates.items()} == {
        "pytest": (True, None),
        "types": (False, None),
    }


@pytest.mark.parametrize("purpose", ["baseline", "baseline-again"])
def test_what_a_gate_said_before_the_first_agent_is_shown(purpose: str) -> None:
    line = {"type": "GateEnded", "gate": "pytest", "purpose": purpose, "green": False, "duration_s": 3.0}
    progress = folded([msgspec.convert(line, GateEnded), next(filter(is_story, half_way()))])
    assert progress.stories["1"].gates["pytest"].green is False


@pytest.mark.parametrize(
    ("purpose", "green"),
    [("claim", True), ("again", True), ("replay", None), ("replay-again", None), ("proof", None), ("control", None)],
)
def test_only_a_claim_judges_the_story(purpose: str, green: bool | None) -> None:
    line = {"type": "GateEnded", "gate": "pytest", "purpose": purpose, "green": True}
    story = folded([*gated(), msgspec.convert(line, GateEnded)]).stories["2"]
    assert story.gates["pytest"].green is green


def test_gates_are_those_of_the_attempt() -> None:
    progress = folded(gated())
    assert [gate.green for gate in progress.stories["1"].gates.values()] == [True, True]
    assert [gate.green for gate in progress.stories["2"].gates.values()] == [None, None]
    progress.fold(GateStarted(gate="pytest", purpose=GatePurpose.CLAIM, expected_s=12.0, at=START))
    assert progress.stories["2"].gates["pytest"].since == START
    progress.fold(begun(4))
    assert progress.stories["2"].gates["pytest"].since is None


def test_the_time_left_is_that_of_the_open_stories_at_the_pace_of_the_others() -> None:
    progress = folded(half_way())
    progress.know(parse_stories(TASKS))
    assert progress.left_s(START) == 91.0  # the second has lasted longer than the first, and the third has not begun
    progress.waiting = Waiting(seconds=60.0, until=START + timedelta(seconds=9), reason="rate limit")
    assert progress.left_s(START) == 100.0
    assert folded(half_way() + finished()).left_s(START) is None
    assert LoopProgress(CHANGE).left_s(START) is None
    assert LoopProgress(CHANGE, whole=True).left_s(START) is None
