"""The plan of `run`, played on doubles: what follows each attempt, and what a later run continues with."""

import asyncio

import pytest

from spool.domain.change.story import StoryList
from spool.domain.loop.checkpoint import Checkpoint
from spool.domain.loop.events import (
    CheckpointDropped,
    CheckpointSaved,
    Retrying,
    Reverted,
    StoryDone,
    StoryProgress,
)
from spool.domain.loop.plan_memory import Due, due_in
from spool.domain.loop.verdict import ExitCode, Status
from spool.engine.plans.story_world import OnResume
from spool.engine.stop_request import Stop
from spool.errors import CommandTimeout
from spool.testing.doubles import Said, says
from spool.testing.play import Played, play
from spool.views.words import story
from tests.unit.engine.plans.support import COMPLETE, Stories

FAILED = says("<promise>FAILED: the tests are red</promise>")
SILENT = says("I stop here.")
LIAR = says(COMPLETE)
CRASH = says("", exit_code=9)


def attempts(played: Played) -> list[tuple[str, int]]:
    return [(event.story_id, event.attempt) for event in played.of(StoryProgress)]


def test_each_story_has_a_checkpoint_that_is_dropped_once_it_is_done() -> None:
    stories = Stories()
    played = play(stories.plan(), stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    kinds = (StoryProgress, CheckpointSaved, CheckpointDropped, StoryDone)
    walked = [(type(event).__name__, event.story_id) for event in played.events if isinstance(event, kinds)]
    assert walked == [
        ("StoryProgress", "1"), ("CheckpointSaved", "1"), ("CheckpointDropped", "1"), ("StoryDone", "1"),
        ("StoryProgress", "2"), ("CheckpointSaved", "2"), ("CheckpointDropped", "2"), ("StoryDone", "2"),
    ]  # fmt: skip
    assert played.finish.status is Status.DONE


@pytest.mark.parametrize(
    ("first", "keeps", "told"),
    [
        (FAILED, False, "> the tests are red"),
        (SILENT, False, ""),
        (CRASH, False, ""),
        (LIAR, True, "You said that the work is done, but these tasks are open: 1.1"),
    ],
    ids=["failed", "silent", "crash", "boxes open"],
)
def test_what_a_retry_starts_from_and_is_told(first: Said, keeps: bool, told: str) -> None:
    stories = Stories()
    spoiled = stories.tree.writes("spoiled", first.output)
    spoils = says(first.output, exit_code=first.exit_code, work=spoiled.work)
    played = play(stories.plan(), spoils, stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    assert attempts(played) == [("1", 1), ("1", 2), ("2", 1)]
    assert ("spoiled" in stories.tree.content) is keeps
    assert len(played.of(Reverted)) == (0 if keeps else 1)
    assert [event.attempt for event in played.of(Retrying)] == [2]
    failed, refused = "## Why the last attempt failed", "## Your last promise was refused"
    assert (failed in played.prompts[1], refused in played.prompts[1]) == (bool(told) and not keeps, keeps)
    assert told in played.prompts[1]
    assert failed not in played.prompts[2]
    assert refused not in played.prompts[2]


def test_retries_are_used_up() -> None:
    stories = Stories(max_retries=2)
    played = play(stories.plan(), FAILED, stage=stories.stage)
    assert attempts(played) == [("1", 1), ("1", 2), ("1", 3)]
    assert (played.finish.status, played.finish.exit_code) == (Status.STUCK, ExitCode.FAILED)


def test_a_story_is_committed_before_its_checkpoint_is_dropped() -> None:
    stories = Stories(commits=True)
    seen: list[object] = []
    drop = stories.checkpoints.drop

    async def noting(checkpoint: object) -> None:
        seen.append(list(stories.tree.commits))
        await drop(checkpoint)  # type: ignore[arg-type]

    stories.checkpoints.drop = noting  # type: ignore[method-assign]
    played = play(stories.plan(), stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    assert seen == [["Story 1: Form"], ["Story 1: Form", "Story 2: Login"]]
    assert [event.commit for event in played.of(StoryDone)] == ["commit-1", "commit-2"]


def test_a_deleted_task_is_not_done() -> None:
    stories = Stories(max_retries=0)
    deletes = says(COMPLETE, work=lambda: setattr(stories.tree, "content", "## 2. Login\n\n- [ ] 2.1 Check\n"))
    played = play(stories.plan(), deletes, stage=stories.stage)
    assert "tasks: boxes are open: 1.1" in played.finish.reason


def test_a_stuck_run_that_is_started_again_has_all_its_retries() -> None:
    stories = Stories(max_retries=1)
    assert attempts(play(stories.plan(), FAILED, stage=stories.stage))[-1] == ("1", 2)
    stories.stage.events.clear()
    played = play(stories.plan(), FAILED, stage=stories.stage)
    assert attempts(played) == [("1", 1), ("1", 2)]
    assert due_in(played.state.memory) is Due.NOTHING


@pytest.mark.parametrize("on_resume", list(OnResume))
def test_the_tree_of_a_stuck_story_is_reverted_or_kept_as_asked(on_resume: OnResume) -> None:
    stories = Stories(max_retries=0, on_resume=on_resume)
    play(stories.plan(), stories.tree.writes("half", "<promise>FAILED: no</promise>"), stage=stories.stage)
    assert "half" in stories.tree.content
    play(stories.plan(), stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    assert ("half" in stories.tree.content) is (on_resume is OnResume.KEEP)


def test_a_checkpoint_that_cannot_be_set_aside_at_once_is_set_aside_at_the_next_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stories = Stories(max_retries=0)
    play(stories.plan(), stories.tree.writes("half", "<promise>FAILED: no</promise>"), stage=stories.stage)
    set_aside, failures = stories.checkpoints.set_aside, [CommandTimeout("git took too long")]

    async def fail_once(checkpoint: Checkpoint) -> str:
        if failures:
            raise failures.pop()
        return await set_aside(checkpoint)

    monkeypatch.setattr(stories.checkpoints, "set_aside", fail_once)
    stories.on_resume, stories.max_retries = OnResume.KEEP, 3
    played = play(stories.plan(), stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    assert not failures
    assert played.finish.status is Status.DONE
    assert "half" in stories.tree.content
    assert stories.checkpoints.discarded == [stories.tasks]


class Slow(Stories):
    """Stories whose checkpoints or source can be made to fail, or to hang."""

    def fail(self, name: str, times: int) -> None:
        """Make a method of the checkpoints time out a number of times."""
        work = getattr(self.checkpoints, name)
        left = [times]

        async def failing(*args: object) -> object:
            if left[0]:
                left[0] -= 1
                raise CommandTimeout("'git add' did not answer within 30 s")
            return await work(*args)

        setattr(self.checkpoints, name, failing)


def stuck_once(stories: Stories) -> None:
    play(stories.plan(), stories.tree.writes("half", "<promise>FAILED: no</promise>"), stage=stories.stage)
    assert "half" in stories.tree.content


def test_a_git_that_hangs_while_a_run_is_resumed_never_skips_the_revert() -> None:
    stories = Slow(max_retries=0)
    stuck_once(stories)
    stories.max_retries = 3
    stories.fail("current", 1)
    played = play(stories.plan(), stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    assert played.finish.status is Status.DONE
    assert "half" not in stories.tree.content


def test_a_tree_that_git_is_slow_to_read_is_still_the_runs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spool.engine.closing._RECORD_S", 0.0)  # what a stop may wait for it
    stories = Stories(max_retries=0)
    really = stories.tree.fingerprint

    async def slowly() -> str:
        await asyncio.sleep(0.01)
        return await really()

    monkeypatch.setattr(stories.tree, "fingerprint", slowly)
    stuck_once(stories)
    played = play(stories.plan(), stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    assert played.finish.status is Status.DONE
    assert "half" not in stories.tree.content


def test_a_git_that_hangs_while_refused_work_is_kept_loses_neither_it_nor_the_reason() -> None:
    stories = Slow()
    claims = stories.tree.writes("refused work", COMPLETE)
    stories.fail("save", 0)
    played = play(
        stories.plan(),
        _then(stories, claims),
        stories.tree.ticks("1.1"),
        stories.tree.ticks("2.1"),
        stage=stories.stage,
    )
    assert "refused work" in stories.tree.content
    assert "You said that the work is done, but these tasks are open: 1.1" in played.prompts[1]
    assert played.finish.status is Status.DONE


def _then(stories: Slow, said: Said) -> Said:
    """Return an agent after which the next checkpoint fails once."""

    def work() -> None:
        said.work()
        stories.fail("save", 1)

    return says(said.output, work=work)


def test_a_stop_while_the_gate_runs_accepts_nothing() -> None:
    stories, stop = Stories(), Stop()
    plan = stories.plan()

    async def hanging() -> StoryList:
        stop.request("Ctrl-C")
        await asyncio.sleep(3_600)
        raise AssertionError

    plan.source.stories = hanging  # type: ignore[method-assign]
    played = play(plan, stories.tree.ticks("1.1"), stage=stories.stage, stop=stop)
    assert played.finish.status is Status.STOPPED
    assert due_in(played.state.memory) is Due.NOTHING
    assert not played.history
    assert played.state.in_flight is not None
    assert played.state.in_flight.ended is not None  # the next run judges it


def test_how_a_run_resumes_is_that_run_s_alone() -> None:
    stories, stop = Stories(max_retries=0), Stop()
    stuck_once(stories)
    stop.request("Ctrl-C")
    play(stories.plan(), says("never started"), stage=stories.stage, stop=stop)
    stories.on_resume, stories.max_retries = OnResume.KEEP, 3
    played = play(stories.plan(), stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    assert "half" in stories.tree.content
    assert played.finish.status is Status.DONE


NOT_YET = "I will print `<promise>COMPLETE</promise>` at the end, not yet"


def test_boxes_that_were_ticked_without_an_accepted_claim_do_not_complete_a_story() -> None:
    stories = Stories()
    tree = stories.tree
    played = play(stories.plan(), tree.ticks("1.1", NOT_YET), says(COMPLETE), tree.ticks("2.1"), stage=stories.stage)
    assert attempts(played) == [("1", 1), ("1", 2), ("2", 1)]
    assert [event.story_id for event in played.of(StoryDone)] == ["1", "2"]
    assert "it did not count as a promise" in played.prompts[1]
    assert (played.finish.status, played.finish.exit_code) == (Status.DONE, ExitCode.COMPLETE)


def test_an_agent_that_only_ticks_its_boxes_uses_up_its_retries() -> None:
    stories = Stories(max_retries=1)
    played = play(stories.plan(), stories.tree.ticks("1.1", NOT_YET), stage=stories.stage)
    assert attempts(played) == [("1", 1), ("1", 2)]
    assert (played.finish.status, played.finish.exit_code) == (Status.STUCK, ExitCode.FAILED)
    assert not played.of(StoryDone)
    again = play(stories.plan(), says(COMPLETE), stories.tree.ticks("2.1"), stage=stories.stage)
    assert [event.story_id for event in again.of(StoryDone)] == ["1", "2"]


def test_boxes_that_a_killed_attempt_ticked_do_not_complete_a_story() -> None:
    stories = Stories()

    def killed() -> None:
        stories.tree.tick("1.1")
        raise KeyboardInterrupt  # nothing of the engine runs after it, as after kill -9

    with pytest.raises(KeyboardInterrupt):
        play(stories.plan(), says("", work=killed), stage=stories.stage)
    assert "- [x] 1.1" in stories.tree.content
    stories.answer = OnResume.KEEP
    played = play(stories.plan(), says(COMPLETE), stories.tree.ticks("2.1"), stage=stories.stage)
    assert [event.story_id for event in played.of(StoryDone)] == ["1", "2"]
    assert played.finish.status is Status.DONE


def test_a_box_that_a_person_ticks_between_two_runs_counts() -> None:
    stories = Stories(max_retries=0)
    play(stories.plan(), FAILED, stage=stories.stage)
    stories.tree.tick("1.1")  # by hand
    stories.stage.events.clear()
    played = play(stories.plan(), stories.tree.ticks("2.1"), stage=stories.stage)
    assert attempts(played) == [("2", 1)]
    assert played.finish.status is Status.DONE


def test_a_box_that_a_person_ticks_between_two_attempts_counts() -> None:
    stories = Stories()
    wait, really = [stories.tree.tick], stories.checkpoints.revert

    async def meanwhile(checkpoint: Checkpoint) -> object:
        done = await really(checkpoint)
        asyncio.get_running_loop().call_soon(wait.pop(), "1.1")
        return done

    stories.checkpoints.revert = meanwhile  # type: ignore[method-assign, assignment]
    plan = stories.plan()
    refresh = plan.source.refresh

    async def later() -> StoryList:
        await asyncio.sleep(0)  # what was ticked after the revert is there by now
        return await refresh()

    plan.source.refresh = later  # type: ignore[method-assign]
    played = play(plan, FAILED, stories.tree.ticks("2.1"), stage=stories.stage)
    assert attempts(played) == [("1", 1), ("2", 1)]
    assert played.finish.status is Status.DONE


@pytest.mark.parametrize("call", ["mark", "changes"])
def test_a_git_that_hangs_around_an_agent_is_a_failed_attempt_that_costs_a_retry(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stories, hangs = Stories(), [True]
    really = getattr(stories.tree, call)

    async def once(*args: object) -> object:
        if hangs and hangs.pop():
            raise CommandTimeout("'git add' did not answer within 30 s")
        return await really(*args)

    monkeypatch.setattr(stories.tree, call, once)
    tree = stories.tree
    played = play(
        stories.plan(), lambda prompt: tree.ticks("2.1" if "2.1 Check" in prompt else "1.1"), stage=stories.stage
    )
    assert attempts(played) == [("1", 1), ("1", 2), ("2", 1)]
    assert ["git add" in event.because for event in played.of(Retrying)] == [True]
    assert [event.story_id for event in played.of(StoryDone)] == ["1", "2"]
    assert all(record.changed_files is not None for record in played.history if record.accepted)


@pytest.mark.parametrize("call", ["drop", "commit"])
def test_a_git_that_hangs_while_a_story_is_accepted_costs_a_retry_and_no_work(call: str) -> None:
    stories = Slow(commits=True)
    if call == "drop":
        stories.fail("drop", 1)
    else:
        really, hangs = stories.tree.commit, [True]

        async def once(message: str, *, leaving: tuple[str, ...] = ()) -> str | None:
            if hangs and hangs.pop():
                raise CommandTimeout("'git commit' did not answer within 30 s")
            return await really(message, leaving=leaving)

        stories.tree.commit = once  # type: ignore[method-assign]
    played = play(stories.plan(), stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    assert [(event.story_id, event.attempt) for event in played.of(Retrying)] == [("1", 2)]
    assert len(played.history) == 2  # no agent is started again for that
    assert stories.tree.commits == ["Story 1: Form", "Story 2: Login"]
    assert played.finish.exit_code is ExitCode.COMPLETE


def test_a_git_that_hangs_whenever_a_story_is_accepted_ends_the_run() -> None:
    stories = Slow(max_retries=1)
    stories.fail("drop", 9)
    played = play(stories.plan(), stories.tree.ticks("1.1"), stage=stories.stage)
    assert (played.finish.status, played.finish.exit_code) == (Status.STUCK, ExitCode.FAILED)
    assert not played.of(StoryDone)


def test_a_retry_that_a_time_out_during_a_revert_costs_is_shown() -> None:
    stories = Slow(max_retries=0)
    stuck_once(stories)
    stories.stage.events.clear()
    stories.max_retries = 3
    stories.fail("revert", 1)
    played = play(stories.plan(), stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    (retry,) = played.of(Retrying)
    assert (retry.attempt, retry.max_retries) == (2, 3)
    assert story(retry) == "retrying (retry 1 of 3): timeout: 'git add' did not answer within 30 s"
    assert attempts(played)[0] == ("1", 2)
