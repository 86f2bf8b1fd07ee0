"""The runner is killed with SIGKILL: files are old or new, numbers rise, nobody is left, and the next run continues."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.faults import invariants
from tests.faults.doors import DOORS, TICK_ALL, Door
from tests.support import Scratch, wait_for
from tests.support.machine import PROMISE, Warm, end, marked, nobody_left, runs, shell_agent
from tests.support.scale import SEED, trials

AT_WORK = "echo at work; echo $SPOOL_ITERATION >> $HOME/witness; : > $HOME/beat; sleep 0.05"


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("name", DOORS)
def test_a_runner_killed_at_any_moment_tears_nothing_and_the_next_run_continues(
    scratch: Scratch, warm: Warm, name: str, part: int
) -> None:
    door: Door = DOORS[name](scratch, warm)
    witnessed = kill_again_and_again(scratch, warm, door, rounds=trials(125), chance=random.Random(SEED + part))
    shell_agent(scratch, f"{TICK_ALL.format(tasks=door.tasks)}; echo '{PROMISE}'")
    command, runner = door.start()
    assert warm.wait(command) == 0, warm.errors()
    wait_for(lambda: not runs(runner), "the last run to end")
    invariants.complete(door.folder)
    outcomes = {record["iteration"]: record["outcome"] for record in invariants.records(door.folder)}
    assert witnessed, "no agent was ever at work"
    for iteration in witnessed:
        assert outcomes[iteration] in ("interrupted", "no promise"), f"iteration {iteration}: {outcomes[iteration]}"
    assert "interrupted" in outcomes.values()


def kill_again_and_again(scratch: Scratch, warm: Warm, door: Door, *, rounds: int, chance: random.Random) -> set[int]:
    """Kill the runner of a loop that never finishes; return the iterations that an agent has seen."""
    shell_agent(scratch, AT_WORK)
    beat = scratch.home / "beat"
    for number in range(rounds):
        beat.unlink(missing_ok=True)
        command, runner = door.start()
        if not number or chance.random() < 0.7:  # else somewhere in the start
            at_work(scratch, warm, door, runner, beat)
        time.sleep(chance.uniform(0, 0.2))  # the moment of the kill is the experiment, not a synchronisation
        end(runner)
        warm.wait(command)
        wait_for(lambda runner=runner: not runs(runner), "the runner to die")  # type: ignore[misc]
        invariants.hold(door.folder)
    nobody_left(scratch)
    return {int(line) for line in (scratch.home / "witness").read_text().split()}


def at_work(scratch: Scratch, warm: Warm, door: Door, runner: int, beat: Path) -> None:
    """Wait until the agent works; report a runner that left before, or hangs, with all that is known."""
    give_up_at = time.monotonic() + 120
    while not beat.exists():
        if not runs(runner) or time.monotonic() > give_up_at:
            pytest.fail(f"no agent works:\n{warm.errors()}\n{invariants.load(door.folder)}\n{marked(scratch)}")
        time.sleep(0.005)
