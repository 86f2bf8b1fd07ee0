"""Clocks that jump and processes that sleep: durations stay sane, and nothing times out at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import datetime

import pytest

from spool.domain.agent.invocation import Patience
from spool.domain.loop.outcome import StopCause
from spool.engine.agent_limits import TICK_S, AgentLimits
from spool.testing.doubles import ManualClock
from tests.faults import invariants
from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for
from tests.support.machine import (
    PROMISE,
    end,
    fake_agent,
    process_state,
    release,
    running,
    shell_agent,
    told,
)

JUMPY = """
import os, sys, time

honest, jump = time.time, os.path.join(os.environ["HOME"], "jump")
time.time = lambda: honest() + (float(os.environ["JUMP"]) if os.path.exists(jump) else 0)
sys.argv[0] = "spool"
from spool.cli.edge import run
from spool.cli.main import spool

sys.exit(run(spool, "spool"))
"""
"""Spool with a wall clock that jumps when a file appears."""


def jumpy(scratch: Scratch, by_s: int, **env: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-c", JUMPY, "ralph", "Work", "--change", CHANGE, "--max-iterations", "4"]
    return subprocess.Popen(
        argv,
        cwd=scratch.root,
        env={**scratch.env, "JUMP": str(by_s), **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("by_s", [-3_600, 3_600])
def test_a_wall_clock_that_jumps_in_an_iteration_changes_no_duration_and_ends_nothing(
    scratch: Scratch, by_s: int
) -> None:
    fake_agent(scratch, "(here / 'jump').touch()\ntime.sleep(0.3)\nsay(PROMISE if iteration == 2 else '')")
    runner = jumpy(scratch, by_s)
    try:
        assert runner.wait(PATIENCE_S) == 0
    finally:
        runner.kill()
        runner.wait()
    for record in scratch.history():
        assert 0 <= record["duration_s"] < 60
        assert at(record["ended_at"]) >= at(record["started_at"])
    assert [record["outcome"] for record in scratch.history()] == ["no promise", "completed"]
    invariants.complete(scratch)


def at(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)


@pytest.mark.parametrize("by_s", [-3_600, 3_600])
def test_a_wall_clock_that_jumps_in_a_pause_does_not_lengthen_it(scratch: Scratch, by_s: int) -> None:
    shell_agent(scratch, f'[ "$SPOOL_ITERATION" = 4 ] && echo "{PROMISE}" || exit 1')
    runner = jumpy(scratch, by_s, SPOOL_ERROR_PAUSE="2")
    try:
        wait_for(
            lambda: any(event["type"] == "Waiting" for event in invariants.lines(scratch.state / "journal.jsonl")),
            "the pause",
        )
        release(scratch, "jump")
        assert runner.wait(PATIENCE_S) == 0
    finally:
        runner.kill()
        runner.wait()


def test_a_crash_before_a_jump_back_gives_no_negative_duration(scratch: Scratch) -> None:
    fake_agent(scratch, "tell('ready')\ntime.sleep(1000)")
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        runner.kill()
        runner.wait()
    release(scratch, "jump")
    shell_agent(scratch, f"echo '{PROMISE}'")
    again = jumpy(scratch, -3_600)
    try:
        assert again.wait(PATIENCE_S) == 0
    finally:
        again.kill()
        again.wait()
    interrupted, completed = scratch.history()
    assert interrupted["outcome"] == "interrupted"
    assert interrupted["duration_s"] >= 0
    assert at(interrupted["ended_at"]) >= at(interrupted["started_at"])
    assert completed["outcome"] == "completed"


@pytest.mark.long
def test_a_runner_that_was_stopped_for_longer_than_the_timeouts_ends_nothing_when_it_comes_back(
    scratch: Scratch,
) -> None:
    shell_agent(scratch, f"touch ~/ready; while ! test -e ~/go; do sleep 0.01; done; echo '{PROMISE}'")
    with running(scratch, "Work", "--idle-timeout", "10", "--iteration-timeout", "10") as runner:
        told(scratch, "ready")
        end(runner.pid, signal.SIGSTOP)
        wait_for(lambda: process_state(runner.pid) == "T", "the runner to stop")
        time.sleep(11)  # longer than both timeouts: the sleep is the experiment
        end(runner.pid, signal.SIGCONT)
        release(scratch, "go")
        assert runner.wait(PATIENCE_S) == 0
    assert [record["outcome"] for record in scratch.history()] == ["completed"]


@pytest.mark.parametrize(("silent", "cause"), [(True, StopCause.IDLE), (False, StopCause.WALL)], ids=["idle", "wall"])
def test_a_minute_that_nobody_watched_counts_as_two_ticks(silent: bool, cause: StopCause) -> None:
    clock = ManualClock()
    watch = AgentLimits(Patience(iteration_s=20, idle_s=10), clock)
    clock.advance(60)
    watch.tick(heard=not silent)
    assert watch.verdict(promised=False, printed=0) is None
    ticks = 0
    while watch.verdict(promised=False, printed=0) is None:
        clock.advance(TICK_S)
        watch.tick(heard=not silent)
        ticks += 1
    assert watch.verdict(promised=False, printed=0) is cause
    assert ticks == (10 if silent else 20) / TICK_S - 2


def test_a_clock_that_goes_back_takes_nothing_off() -> None:
    clock = ManualClock()
    watch = AgentLimits(Patience(), clock)
    clock.advance(-100)
    watch.tick(heard=False)
    assert watch.elapsed_s == 0
