"""What the loop does for work that has to be delivered, and for rate limits that others have met."""

from spool.domain.loop.events import RunEnded, Waiting, Warned
from spool.domain.loop.pacing import RateLimit
from spool.domain.loop.verdict import ExitCode, Status
from spool.engine.stop_request import Stop
from spool.errors import BranchMoved
from spool.testing.doubles import says
from spool.testing.play import play
from tests.unit.engine.plans.support import Stories

ONE = "## 1. Form\n\n- [ ] 1.1 Write\n"


def test_the_work_is_delivered_before_the_end_is_said() -> None:
    stories, seen = Stories(tasks=ONE), []

    async def deliver() -> None:
        seen.append([type(event) for event in stories.stage.events])

    stories.stage.deliver = deliver
    played = play(stories.plan(), stories.tree.ticks("1.1"), stage=stories.stage)
    assert played.finish.exit_code is ExitCode.COMPLETE
    (before,) = seen
    assert RunEnded not in before


def test_work_that_does_not_reach_its_branch_is_exit_code_5() -> None:
    stories = Stories(tasks=ONE)

    async def deliver() -> None:
        raise BranchMoved("somebody moved change/x", hint="merge it")

    stories.stage.deliver = deliver
    played = play(stories.plan(), stories.tree.ticks("1.1"), stage=stories.stage)
    assert (played.finish.status, played.finish.exit_code) == (Status.DONE, ExitCode.UNCOMMITTED)
    assert "its branch was not updated" in played.finish.reason
    assert [(one.message, one.hint) for one in played.of(Warned)] == [("somebody moved change/x", "merge it")]


def test_an_unfinished_loop_delivers_what_it_has_and_keeps_its_exit_code() -> None:
    stories, calls = Stories(tasks=ONE, max_retries=0), []

    async def deliver() -> None:
        calls.append("delivered")

    stories.stage.deliver = deliver
    played = play(stories.plan(), says("<promise>FAILED: no</promise>"), stage=stories.stage)
    assert (played.finish.exit_code, calls) == (ExitCode.FAILED, ["delivered"])


def test_a_stopped_loop_delivers_after_its_end_is_written() -> None:
    stories, seen, stop = Stories(tasks=ONE), [], Stop()

    async def deliver() -> None:
        seen.append(stories.stage.events[-1])

    stories.stage.deliver = deliver
    played = play(stories.plan(), says("", work=lambda: stop.request("Ctrl-C")), stage=stories.stage, stop=stop)
    assert played.finish.exit_code is ExitCode.INTERRUPTED
    assert [type(event) for event in seen] == [RunEnded]


def test_a_loop_waits_for_a_rate_limit_that_another_one_has_met() -> None:
    stories = Stories(tasks=ONE)
    now = stories.stage.clock.now().timestamp()
    stories.stage.rate_limits.note("fake", RateLimit(until=now + 90, noted_at=now, reason="quota", by="another"))
    played = play(stories.plan(), stories.tree.ticks("1.1"), stage=stories.stage)
    (waited,) = played.of(Waiting)
    assert waited.seconds >= 90
    assert waited.reason == "rate limit, met by another loop with fake: quota"
    assert played.finish.exit_code is ExitCode.COMPLETE
