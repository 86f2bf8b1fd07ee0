"""Where a loop stands, from its events alone."""

import msgspec

from spool.domain.events import (
    CheckpointSaved,
    Event,
    IterationEnded,
    Reverted,
    RunEnded,
    RunStarted,
    StopRequested,
)
from spool.domain.gates.values import GateResult
from spool.domain.outcome import OutcomeKind
from spool.domain.progress import LoopProgress, Mark
from spool.domain.story import parse_stories
from spool.domain.verdict import Limits, Status
from spool.tui.looks import state_of
from tests.tui.scene import CHANGE, TASKS, finished, half_way, record, stuck


def folded(events: list[Event]) -> LoopProgress:
    progress = LoopProgress(CHANGE)
    for event in events:
        progress.fold(event)
    return progress


def marks(progress: LoopProgress) -> dict[str, Mark]:
    return {story.id: story.mark for story in progress.stories.values()}


def test_half_way() -> None:
    progress = folded(half_way())
    progress.know(parse_stories(TASKS))
    assert marks(progress) == {"1": Mark.DONE, "2": Mark.RUNNING, "3": Mark.WAITING}
    assert (progress.current, progress.iteration, progress.attempt, progress.completed) == ("2", 3, 2, 1)
    assert [(one.number, one.outcome) for one in progress.stories["2"].attempts] == [(1, "failed"), (2, "")]
    assert progress.stories["2"].attempts[0].reason == "the test client sends no headers"
    assert len(progress.charted) == 2
    assert state_of(progress, over=False) == "running"


def test_done() -> None:
    progress = folded(half_way() + finished())
    assert set(marks(progress).values()) == {Mark.DONE}
    assert state_of(progress, over=True) == "done"
    assert progress.usage.cost_usd is not None


def test_stuck() -> None:
    progress = folded(half_way() + stuck())
    assert marks(progress)["2"] is Mark.FAILED
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
    assert marks(progress)["2"] is Mark.WAITING


def test_events_are_counted_per_story() -> None:
    progress = folded(half_way())
    assert progress.stories["1"].seen
    assert progress.stories["2"].seen
    assert "" not in progress.stories


def test_a_revert_takes_back_what_its_attempt_changed() -> None:
    progress = folded(half_way())
    assert progress.stories["1"].files
    assert progress.stories["2"].files == set()


def test_a_revert_keeps_what_its_checkpoint_has() -> None:
    kept = record(3, "2", 2, OutcomeKind.COMPLETED)
    events = [*half_way(), IterationEnded(record=kept), CheckpointSaved(story_id="2", tree="x")]
    failed = msgspec.structs.replace(record(4, "2", 3, OutcomeKind.FAILED), files=("other.py",))
    progress = folded([*events, IterationEnded(record=failed), Reverted(story_id="2", kept_as="name")])
    assert progress.stories["2"].files == set(kept.files)


def test_a_wait_for_a_rate_limit_is_no_attempt() -> None:
    limited = record(3, "2", 2, OutcomeKind.RATE_LIMITED)
    assert folded([*half_way(), IterationEnded(record=limited)]).stories["2"].tries == 1


def test_a_claim_that_a_gate_refused_is_not_completed() -> None:
    gate = GateResult(name="tasks", passed=False, why="boxes are open: 2.1")
    refused = msgspec.structs.replace(record(3, "2", 2, OutcomeKind.COMPLETED), gates=(gate,))
    last = folded([*half_way(), IterationEnded(record=refused)]).stories["2"].attempts[-1]
    assert (last.outcome, last.reason) == ("refused", "boxes are open: 2.1")
