"""The runner is killed with SIGKILL: files are old or new, numbers rise, nobody is left, and the next run goes on."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.faults import invariants
from tests.faults.machine import PROMISE, Warm, end, marked, nobody_left, shell_agent
from tests.support import Scratch

FOREVER = "echo at work; : > $HOME/beat; sleep 0.05"
ROUNDS_IN_ALL, PARTS = 1_000, 10


def test_a_runner_killed_at_any_moment_tears_nothing_and_the_next_run_goes_on(scratch: Scratch, warm: Warm) -> None:
    kill_again_and_again(scratch, warm, rounds=60, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_thousand_kills(scratch: Scratch, warm: Warm, part: int) -> None:
    kill_again_and_again(scratch, warm, rounds=ROUNDS_IN_ALL // PARTS, seed=100 + part)


def at_work(scratch: Scratch, warm: Warm, runner: int, beat: Path) -> None:
    """Wait until the agent works; a runner that left before, or hangs, is told of with all that is known."""
    give_up_at = time.monotonic() + 120
    while not beat.exists():
        if warm.ended(runner) or time.monotonic() > give_up_at:
            pytest.fail(f"no agent works:\n{warm.errors()}\n{invariants.load(scratch)}\n{marked(scratch)}")
        time.sleep(0.005)


def kill_again_and_again(scratch: Scratch, warm: Warm, *, rounds: int, seed: int) -> None:
    shell_agent(scratch, FOREVER)
    chance = random.Random(seed)
    in_flight: set[int] = set()
    for _ in range(rounds):
        beat = scratch.home / "beat"
        beat.unlink(missing_ok=True)
        runner = warm.ralph("Work", "--no-max-iterations")
        if chance.random() < 0.7:  # else somewhere in the start
            at_work(scratch, warm, runner, beat)
        time.sleep(chance.uniform(0, 0.2))  # the moment of the kill is the experiment, not a synchronisation
        end(runner)
        assert warm.wait(runner) == -9
        invariants.hold(scratch)
        state = invariants.load(scratch)
        if state is not None and state.in_flight is not None:
            in_flight.add(state.in_flight.iteration)
    nobody_left(scratch)
    shell_agent(scratch, f"echo '{PROMISE}'")
    assert warm.wait(warm.ralph("Work")) == 0, warm.errors()
    invariants.complete(scratch)
    outcomes = {record["iteration"]: record["outcome"] for record in scratch.history()}
    assert in_flight, "no kill ever met an agent at work"
    for iteration in in_flight:
        record = outcomes[iteration]
        assert record in ("interrupted", "no promise"), f"iteration {iteration} became {record}"
    assert "interrupted" in outcomes.values()
