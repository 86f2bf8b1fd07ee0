"""The account of a loop: every figure, from its events alone."""

from spool.domain.account.history import Activity
from spool.domain.account.story_history import StoryStanding
from spool.domain.change.tasks import Boxes
from spool.domain.judging.gates.gate import GatePurpose, GateResult, Proof
from spool.domain.loop.events import (
    Complete,
    Event,
    GateEnded,
    GateStarted,
    IterationEnded,
    IterationStarted,
    RunEnded,
    RunStarted,
    StoryDone,
    WaitEnded,
    Waiting,
    Warned,
)
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.receipt import Receipt
from spool.domain.loop.verdict import Limits, Status
from tests.support.scene import CHANGE, START, begun, finished, half_way, record, stuck
from tests.unit.domain.accounts import account

PASSED = (GateResult(name="tests", passed=True, why="12 tests", proof=Proof.PROVED, proved_by=("test_me",)),)


def run_started(iteration: int = 0) -> Event:
    return RunStarted(change=CHANGE, harness="claude", model=None, limits=Limits(), iteration=iteration)


def test_a_failed_night_reads_as_one() -> None:
    found = account([*half_way(), *stuck()])
    assert found.status is Status.STUCK
    assert found.kept == "2"
    assert [(one.id, one.standing, one.attempts) for one in found.stories] == [
        ("1", StoryStanding.WORD, 1),
        ("2", StoryStanding.FAILED, 2),
        ("3", StoryStanding.OPEN, 0),
    ]
    assert [one.name for one in found.discarded] == ["001-01_add-auth.20260302-093412"]
    assert found.discarded[0].iteration == 2
    assert [one.discarded for one in found.attempts] == ["", "001-01_add-auth.20260302-093412", ""]
    assert (found.reverts, found.receipt.iterations) == (1, 3)


def test_a_reason_is_said_once() -> None:
    ended = [IterationEnded(record=record(number, "2", number, OutcomeKind.FAILED, reason="no")) for number in (4, 5)]
    found = account([*half_way(), *ended, *stuck()[1:]])
    assert [one.why for one in found.of_story("2")][-2:] == ["no", "same reason"]
    assert (found.word, found.cause, found.reason) == ("failed", "story 2: no promise", f"{found.cause}; {found.bound}")


def test_a_history_counts_what_its_stories_changed_without_what_was_reverted() -> None:
    found = account([*half_way(), *finished()])
    assert found.changed.commits == 1
    assert found.changed.files == len({name for story in found.stories for name in story.files}) > 0


def test_the_sums_of_the_stories_are_those_of_the_receipt() -> None:
    found = account([*half_way(), *finished()])
    assert found.receipt.agent_s == sum(story.seconds for story in found.stories)
    assert found.receipt.usage.tokens == sum(story.usage.tokens or 0 for story in found.stories)
    assert found.commits == ("0123456789abcdef",)
    assert {story.id for story in found.receipt.stories if story.done} == {"1", "2", "3"}


def test_a_proved_story_says_by_which_tests() -> None:
    proved = record(1, "1", 1, OutcomeKind.COMPLETED, gates=PASSED, proof="proved", gates_s=4.0)
    done = StoryDone(story_id="1", title="Tokens", proof=Proof.PROVED)
    found = account([run_started(), half_way()[2], begun(1), IterationEnded(record=proved), done])
    story = found.stories[0]
    assert (story.standing, story.evidence, story.gates_s) == (
        StoryStanding.PROVED,
        "test_me fails without the change",
        4.0,
    )
    assert found.receipt.per_proved_story is not None


def test_a_wait_counts_by_its_own_end_and_in_old_journals_by_the_next_event() -> None:
    limited = IterationEnded(record=record(1, "1", 1, OutcomeKind.RATE_LIMITED))
    wait = Waiting(seconds=30.0, until=START, reason="rate limit: slow down")
    new = account([run_started(), begun(1), limited, wait, WaitEnded(seconds=12.5), begun(2)])
    assert new.receipt.waits_s == 12.5
    assert [(one.label, one.seconds) for one in new.waits] == [("rate limit: slow down", 12.5)]
    old = account([run_started(), begun(1), limited, wait, begun(2)])
    assert old.receipt.waits_s == 10.0
    killed = account([run_started(), begun(1), limited, wait, run_started(1)])
    assert (killed.receipt.waits_s, killed.waits) == (0.0, ())


def test_gates_have_their_own_stretches_and_the_baseline_its_own_sum() -> None:
    events: list[Event] = [
        run_started(),
        GateStarted(gate="tests", purpose=GatePurpose.BASELINE),
        GateEnded(gate="tests", purpose=GatePurpose.BASELINE, green=True, duration_s=9.5),
        begun(1),
        GateStarted(gate="tests", purpose=GatePurpose.CLAIM),
        GateEnded(gate="tests", purpose=GatePurpose.CLAIM, green=False, duration_s=8.0),
    ]
    found = account(events)
    assert found.baseline_s == 9.5
    gates = [one for one in found.stretches if one.activity is Activity.GATES]
    assert [(one.label, one.good, one.seconds) for one in gates] == [("tests", None, 10.0), ("tests", False, 10.0)]


def test_boxes_over_time_follow_a_revert() -> None:
    def ended(number: int, done: int) -> Event:
        return IterationEnded(record=record(number, "2", number, OutcomeKind.FAILED, boxes={"done": done, "total": 6}))

    def started(number: int, done: int) -> Event:
        boxes = Boxes(done=done, total=6)
        return IterationStarted(iteration=number, run_iteration=number, max_iterations=None, prompt="", boxes=boxes)

    found = account([run_started(), started(1, 2), ended(1, 4), started(2, 2), ended(2, 2)])
    assert [point.done for point in found.boxes] == [2, 4, 2]


def test_an_accepted_story_has_the_last_word_on_its_boxes() -> None:
    ended = IterationEnded(record=record(1, "1", 1, OutcomeKind.COMPLETED, boxes={"done": 0, "total": 3}))
    accepted = StoryDone(story_id="1", title="Form", boxes=Boxes(done=2, total=3))
    earlier = StoryDone(story_id="1", title="Form")
    whole = Complete(iterations=1, boxes=Boxes(done=3, total=3))
    assert [point.done for point in account([run_started(), ended, accepted, whole]).boxes] == [0, 2, 3]
    assert [point.done for point in account([run_started(), ended, earlier]).boxes] == [0], "in an older journal"


def test_a_killed_run_ends_with_its_last_event_and_its_attempt_counts_once() -> None:
    found = account([run_started(), begun(1)], close=True)
    assert (found.status, found.attempts[-1].outcome) == (Status.STOPPED, "interrupted")
    assert found.receipt.iterations == 1
    interrupted = record(1, "1", 1, OutcomeKind.INTERRUPTED)
    again = account([run_started(), begun(1), run_started(1), IterationEnded(record=interrupted)])
    assert [run.status for run in again.runs] == [Status.STOPPED, Status.RUNNING]
    assert again.receipt.iterations == 1


def test_failed_commits_are_counted_apart_from_warnings() -> None:
    failed = Warned(message="the commit failed: a hook refused it", about="commit")
    found = account([run_started(), Warned(message="the disk is nearly full"), failed])
    assert found.failed_commits == ("the commit failed: a hook refused it",)
    assert found.warnings == ("the disk is nearly full",)


def test_only_what_happened_since_then_counts() -> None:
    events = [*half_way(), *stuck()]
    at = 10.0 * next(place for place, one in enumerate(events) if one == begun(2))
    found = account(events, since_s=at)
    assert found.receipt.iterations == 2
    assert [(one.id, one.standing) for one in found.stories][:2] == [
        ("1", StoryStanding.EARLIER),
        ("2", StoryStanding.FAILED),
    ]


def test_the_receipt_of_the_events_is_the_one_of_the_run() -> None:
    receipt = Receipt().with_iteration(record(1, "1", 1, OutcomeKind.FAILED)).with_wait(2.0)
    events: list[Event] = [
        run_started(),
        half_way()[2],
        begun(1),
        IterationEnded(record=record(1, "1", 1, OutcomeKind.FAILED)),
        Waiting(seconds=2.0, until=START, reason="x"),
        WaitEnded(seconds=2.0),
        RunEnded(status=Status.STUCK, reason="", exit_code=4, receipt=receipt),
    ]
    assert account(events).receipt == receipt


def test_a_run_that_began_before_the_reported_time_is_still_running() -> None:
    found = account(half_way(), since_s=50.0)
    assert (found.status, len(found.runs), found.began_at) == (Status.RUNNING, 1, START)
    assert found.elapsed_s == 10.0 * len(half_way()) - 50.0


def test_a_run_that_ended_before_the_reported_time_is_left_out() -> None:
    events = [*half_way(), *stuck()]
    found = account(events, since_s=10.0 * len(events))
    assert (found.status, found.runs, found.began_at, found.elapsed_s) == (Status.STUCK, [], None, 0.0)
    assert found.receipt.iterations == 0


def test_a_run_that_fails_before_its_loop_does_not_change_the_one_before() -> None:
    crashed = RunEnded(status=Status.STUCK, reason="internal error", exit_code=1)
    (before,) = account([*half_way(), *finished()]).runs
    (after,) = account([*half_way(), *finished(), crashed]).runs
    assert (after.status, after.reason) == (before.status, before.reason)
    assert after.reason != "internal error"
