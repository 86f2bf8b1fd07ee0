"""Where a loop stands, from its events alone."""

from spool.domain.events import Event, RunEnded, RunStarted, StopRequested
from spool.domain.progress import LoopProgress, Mark
from spool.domain.story import parse_stories
from spool.domain.verdict import Limits, Status
from spool.tui.looks import state_of
from tests.tui.scene import CHANGE, TASKS, finished, half_way, stuck


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
