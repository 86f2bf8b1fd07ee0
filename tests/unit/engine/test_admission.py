"""The gate before each agent: nothing starts before it opens, and a stop does not wait for it."""

import asyncio
from datetime import timedelta

import pytest

from spool.domain.loop.events import IterationStarted, RunEnded, WaitEnded
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.pacing import RateLimit
from spool.domain.loop.state import LoopState
from spool.domain.loop.summary import Phase
from spool.domain.loop.verdict import ExitCode, Status
from spool.engine.stop_request import Stop
from spool.errors import FencedOff
from spool.testing.play import play
from tests.unit.engine.plans.support import Stories

TWO = "## 1. Form\n\n- [ ] 1.1 Write\n\n## 2. Send\n\n- [ ] 2.1 Write\n"


class Gate:
    """An admission that notes what it is asked, and answers as it is told."""

    def __init__(self, *, waits: bool = False, refuse_at: int = 0, stop: Stop | None = None) -> None:
        self.waits = waits
        self.asked: list[LoopState] = []
        self._refuse_at = refuse_at
        self._stop = stop

    async def admit(self, state: LoopState) -> None:
        self.asked.append(state)
        if self._stop is not None:
            self._stop.request("Ctrl-C")
            await asyncio.Event().wait()  # a remote that never answers
        if len(self.asked) == self._refuse_at:
            raise FencedOff("another host has it")


def test_each_agent_is_asked_for_with_its_iteration_in_flight_on_disk() -> None:
    stories, gate = Stories(tasks=TWO), Gate()
    stories.stage.admission = gate
    played = play(stories.plan(), stories.tree.ticks("1.1"), stories.tree.ticks("2.1"), stage=stories.stage)
    assert played.finish.exit_code is ExitCode.COMPLETE
    assert [(one.iteration, one.phase, one.story and one.story.id) for one in gate.asked] == [
        (1, Phase.AGENT, "1"),
        (2, Phase.AGENT, "2"),
    ]
    assert all(one.in_flight is not None for one in gate.asked)
    assert len(played.of(IterationStarted)) == 2


def test_a_loop_that_is_fenced_off_starts_no_agent_and_ends_with_75() -> None:
    stories = Stories(tasks=TWO)
    stories.stage.admission = Gate(refuse_at=2)
    with pytest.raises(FencedOff) as caught:
        play(stories.plan(), stories.tree.ticks("1.1"), stage=stories.stage)
    assert caught.value.exit_code == int(ExitCode.POSTPONED) == 75
    (ended,) = [event for event in stories.stage.events if isinstance(event, RunEnded)]
    assert (ended.status, ended.exit_code) == (Status.STOPPED, 75)
    assert [one.outcome for one in stories.stage.store.history] == [OutcomeKind.COMPLETED, OutcomeKind.INTERRUPTED]


def test_a_stop_does_not_wait_for_the_gate() -> None:
    stories, stop = Stories(tasks=TWO), Stop()
    stories.stage.admission = Gate(stop=stop)
    played = play(stories.plan(), stage=stories.stage, stop=stop)
    assert played.finish.exit_code is ExitCode.INTERRUPTED
    assert [(one.outcome, one.reason) for one in played.history] == [
        (OutcomeKind.INTERRUPTED, "stopped before its agent started")
    ]
    assert played.state.in_flight is None


def test_a_rate_limit_ends_a_run_that_does_not_wait_and_says_when_to_start_again() -> None:
    stories = Stories(tasks=TWO)
    stories.stage.admission = Gate()
    now = stories.stage.clock.now()
    limit = RateLimit(until=now.timestamp() + 90, noted_at=now.timestamp(), reason="quota", by="another")
    stories.stage.rate_limits.note("fake", limit)
    played = play(stories.plan(), stage=stories.stage)
    (ended,) = played.of(RunEnded)
    assert (ended.exit_code, ended.status) == (75, Status.STOPPED)
    assert ended.retry_at is not None
    assert ended.retry_at >= now + timedelta(seconds=90)
    assert played.state.waiting_until == ended.retry_at
    assert not played.of(WaitEnded)
