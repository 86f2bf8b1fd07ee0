"""A run that is killed before any of its steps continues with its attempt, its reason and its settled tree.

Steps are everything that outlives the process: saving the state, the history, the journal, a checkpoint, a commit. The
run is killed before each of them in turn, and once more before each step of the run that follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from spool.domain.loop.events import Event, StoryProgress
from spool.domain.loop.outcome import OutcomeKind
from spool.domain.loop.verdict import Status
from spool.engine.plans.story_world import OnResume
from spool.testing.doubles import MemoryExpenses, MemoryStore, Said
from spool.testing.play import Played, Stage, play
from tests.unit.engine.plans.support import COMPLETE, Stories

ATTEMPT = re.compile(r"story (\d+), .*?in attempt (\d+) of", re.DOTALL)
EXPECTED = [("1", 1), ("1", 2), ("1", 3), ("2", 1), ("2", 2)]
END = "## 1. Form\n\n- [x] 1.1 Write\n\n## 2. Login\n\n- [x] 2.1 Check\nkept though refused\n"


class Killed(BaseException):
    """The process is gone."""


class Mortal:
    """Stories whose every durable step may be the last."""

    def __init__(self) -> None:
        self.stories = Stories(commits=True, answer=OnResume.REVERT)
        self.left: int | None = None
        self.steps = 0
        self.expenses = MemoryExpenses()
        self.stories.stage.expenses = self.expenses
        stage, checkpoints, tree = self.stories.stage, self.stories.checkpoints, self.stories.tree
        self._dies(stage.store, "save", "append")
        self._dies(stage, "emit")
        self._dies(self.expenses, "add")
        self._dies_in(checkpoints, "save", "revert", "drop")
        self._dies_in(tree, "commit")

    def _dies(self, target: Stage | MemoryStore | MemoryExpenses, *names: str) -> None:
        for name in names:
            setattr(target, name, self._before(getattr(target, name)))

    def _dies_in(self, target: Any, *names: str) -> None:
        for name in names:
            work = getattr(target, name)

            async def mortal(*args: Any, work: Callable[..., Any] = work, **named: Any) -> Any:
                self._step()
                return await work(*args, **named)

            setattr(target, name, mortal)

    def _before(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def mortal(*args: Any) -> Any:
            self._step()
            return work(*args)

        return mortal

    def _step(self) -> None:
        self.steps += 1
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed

    def run(self, *, dies_before: int | None = None) -> Played | None:
        """Run, or run on; None if it was killed."""
        self.left = dies_before
        try:
            return play(self.stories.plan(), self.answer, stage=self.stories.stage)
        except Killed:
            return None

    def answer(self, prompt: str) -> Said:
        """Fail, fall silent and do it; then claim too early, and do it."""
        found = ATTEMPT.search(prompt)
        assert found is not None
        tree = self.stories.tree
        match (found[1], int(found[2])):
            case ("1", 1):
                return tree.writes("spoiled", "<promise>FAILED: the tests are red</promise>")
            case ("1", 2):
                return tree.writes("spoiled again", "I stop here.")
            case ("2", 1):
                return tree.writes("kept though refused", COMPLETE)
            case (story, _):
                return tree.ticks(f"{story}.1")


def steps() -> int:
    mortal = Mortal()
    assert mortal.run() is not None
    return mortal.steps


def check(mortal: Mortal, played: Played) -> None:
    assert played.finish.status is Status.DONE
    assert mortal.stories.tree.content == END
    assert mortal.stories.tree.commits == ["Story 1: Form", "Story 2: Login"]
    assert [record.iteration for record in played.history] == list(range(1, len(played.history) + 1))
    judged = [(one.story_id, one.attempt) for one in played.history if one.outcome is not OutcomeKind.INTERRUPTED]
    assert judged == EXPECTED
    receipt = played.state.receipt
    assert (receipt.iterations, [story.done for story in receipt.stories]) == (len(played.history), [True, True])
    assert mortal.expenses.added == {(record.run_id, record.iteration) for record in played.history}
    for prompt in played.prompts:
        found = ATTEMPT.search(prompt)
        assert found is not None
        attempt = (found[1], int(found[2]))
        assert ("> the tests are red" in prompt) is (attempt == ("1", 2))
        assert ("You said that the work is done, but these tasks are open: 2.1" in prompt) is (attempt == ("2", 2))
    assert no_story_is_done_twice(played.events)


def no_story_is_done_twice(events: tuple[Event, ...]) -> bool:
    walked = [event.story_id for event in events if isinstance(event, StoryProgress)]
    return walked == sorted(walked)


def test_without_a_kill_the_stories_take_five_attempts() -> None:
    mortal = Mortal()
    played = mortal.run()
    assert played is not None
    check(mortal, played)
    assert len(played.history) == len(EXPECTED)


@pytest.mark.parametrize("step", range(steps()))
def test_a_run_killed_before_any_step_continues_exactly_where_it_was(step: int) -> None:
    mortal = Mortal()
    assert mortal.run(dies_before=step) is None
    played = mortal.run()
    assert played is not None
    check(mortal, played)
    assert len(mortal.stories.stage.prompts) <= len(EXPECTED) + 1


@pytest.mark.parametrize("step", range(0, steps(), 3))
def test_a_run_killed_again_and_again_gets_there(step: int) -> None:
    mortal = Mortal()
    mortal.run(dies_before=step)
    for again in range(2, 40, 5):
        if (played := mortal.run(dies_before=again)) is not None:
            break
    else:
        played = mortal.run()
    assert played is not None
    check(mortal, played)
