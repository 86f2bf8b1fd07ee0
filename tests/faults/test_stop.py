"""Stops, at bad moments and by every way in: one terminal state, each iteration recorded once, nobody left."""

from __future__ import annotations

import random
import signal
import time

import pytest

from tests.faults import invariants
from tests.support import Scratch, wait_for
from tests.support.machine import (
    PROMISE,
    Warm,
    agents,
    end,
    fake_agent,
    nobody_left,
    process_state,
    running,
    runs,
    shell_agent,
    terminal,
    told,
)
from tests.support.scale import SEED, trials

STUBBORN = """
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
tell("ready", os.getpid())
while True:
    time.sleep(1)
"""
WILLING = """
tell("ready", os.getpid())
while True:
    time.sleep(1)
"""
CTRL_C, CTRL_Z = b"\x03", b"\x1a"


@pytest.mark.parametrize("part", range(4))
def test_a_stop_about_when_the_agent_exits_ends_the_loop_once(scratch: Scratch, warm: Warm, part: int) -> None:
    chance = random.Random(SEED + part)
    for number in range(1, trials(125) + 1):
        word = PROMISE if chance.random() < 0.5 else "nothing to say"
        shell_agent(scratch, f"echo '{word}'; : > {scratch.home}/exits{number}")
        runner = warm.ralph("Work", "--max-iterations", "3", "--idle-timeout", "60")
        told(scratch, f"exits{number}")
        time.sleep(chance.uniform(0, 0.05))  # within 50 ms of the exit, on either side of what follows it
        for _ in range(chance.choice((1, 1, 2))):
            end(runner, signal.SIGTERM)
        code = warm.wait(runner)
        assert code in (0, 3, 130, -signal.SIGTERM), warm.errors()
        state = invariants.load(scratch)
        assert state is not None
        if code != -signal.SIGTERM:  # it came before the handlers were there, or after all was over
            invariants.complete(scratch)
            assert state.status == {0: "done", 3: "stuck", 130: "stopped"}[code]
    shell_agent(scratch, f"echo '{PROMISE}'")
    assert warm.wait(warm.ralph("Work")) == 0
    invariants.complete(scratch)


def test_a_stop_before_the_first_iteration_is_a_stop(scratch: Scratch, warm: Warm) -> None:
    shell_agent(scratch, "sleep 0.2")
    for delay_ms in range(0, 60, 4):
        runner = warm.ralph("Work", "--max-iterations", "2", "--harness", "opencode")
        time.sleep(delay_ms / 1_000)  # every moment of the start is tried
        end(runner, signal.SIGTERM)
        assert warm.wait(runner) in (130, -signal.SIGTERM), warm.errors()
        assert not warm.errors() or warm.errors().startswith("Stopped. Continue with"), warm.errors()
        if (scratch.state / "state.json").exists():
            invariants.hold(scratch)


def test_two_stops_force(scratch: Scratch) -> None:
    fake_agent(scratch, STUBBORN)
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        runner.terminate()
        wait_for(lambda: any(e["type"] == "StopRequested" for e in scratch.journal()), "the request in the journal")
        runner.terminate()
        assert runner.wait(60) == 130
        assert not agents(scratch)
    stops = [event["forced"] for event in scratch.journal() if event["type"] == "StopRequested"]
    assert stops == [False, True]
    assert scratch.load_state()["status"] == "stopped"
    assert [record["outcome"] for record in scratch.history()] == ["interrupted"]
    invariants.complete(scratch)


def test_a_loop_that_was_stopped_goes_on_where_it_was(scratch: Scratch) -> None:
    fake_agent(scratch, WILLING)
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        runner.terminate()
        assert runner.wait(60) == 130
    shell_agent(scratch, f"echo '{PROMISE}'")
    done = scratch.ralph("Work")
    assert done.returncode == 0
    assert [(r["iteration"], r["outcome"]) for r in scratch.history()] == [(1, "interrupted"), (2, "completed")]


def test_a_promise_made_after_the_stop_does_not_count(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        "signal.signal(signal.SIGINT, lambda *_: (say(PROMISE + '\\n'), sys.exit(0)))\ntell('ready')\ntime.sleep(1000)",
    )
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        runner.terminate()
        assert runner.wait(60) == 130
    assert scratch.load_state()["status"] == "stopped"


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_signal_to_stop_ends_the_tree_and_saves(scratch: Scratch, signum: signal.Signals) -> None:
    fake_agent(scratch, "subprocess.Popen(['setsid', 'sleep', '1000'])" + WILLING)
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        runner.send_signal(signum)
        assert runner.wait(60) == 130
        assert not agents(scratch)
    assert scratch.load_state()["status"] == "stopped"
    invariants.complete(scratch)


def test_a_closed_terminal_ends_the_tree_and_saves(scratch: Scratch) -> None:
    fake_agent(scratch, "subprocess.Popen(['setsid', 'sleep', '1000'])" + WILLING)
    with terminal(scratch, "Work") as screen:
        wait_for(lambda: screen.read() and (scratch.home / "ready").exists(), "the agent")
        screen.hang_up()
        code = screen.wait()
        assert code == 130
        nobody_left(scratch)
    assert scratch.load_state()["status"] == "stopped"
    assert "a closed terminal" in [e["by"] for e in scratch.journal() if e["type"] == "StopRequested"]
    invariants.complete(scratch)


def test_ctrl_c_once_stops_and_says_how_to_go_on(scratch: Scratch) -> None:
    fake_agent(scratch, WILLING)
    with terminal(scratch, "Work") as screen:
        wait_for(lambda: screen.read() and (scratch.home / "ready").exists(), "the agent")
        screen.press(CTRL_C)
        assert screen.wait() == 130
        assert b"Continue with" in screen.seen
        assert not agents(scratch)
    invariants.complete(scratch)


def test_ctrl_c_twice_forces(scratch: Scratch) -> None:
    fake_agent(scratch, STUBBORN)
    with terminal(scratch, "Work") as screen:
        wait_for(lambda: screen.read() and (scratch.home / "ready").exists(), "the agent")
        screen.press(CTRL_C)
        wait_for(lambda: screen.read() and any(e["type"] == "StopRequested" for e in scratch.journal()), "the stop")
        screen.press(CTRL_C)
        assert screen.wait() == 130
        assert not agents(scratch)
    stops = [event["forced"] for event in scratch.journal() if event["type"] == "StopRequested"]
    assert stops == [False, True]
    invariants.complete(scratch)


def test_ctrl_z_pauses_the_agent_too_and_both_come_back(scratch: Scratch) -> None:
    fake_agent(scratch, "tell('ready', os.getpid())\nwait_for('go')\nsay(PROMISE)")
    with terminal(scratch, "Work") as screen:
        wait_for(lambda: screen.read() and (scratch.home / "ready").exists(), "the agent")
        agent = int(told(scratch, "ready"))
        for _ in range(3):
            screen.press(CTRL_Z)
            wait_for(lambda: process_state(screen.pid) == "T", "the runner to stop")
            wait_for(lambda: process_state(agent) == "T", "the agent to stop")
            end(screen.pid, signal.SIGCONT)
            wait_for(lambda: process_state(agent) == "S", "the agent to go on")
        (scratch.home / "go").touch()
        assert screen.wait() == 0
    assert [record["outcome"] for record in scratch.history()] == ["completed"]


def test_a_paused_runner_that_is_killed_leaves_no_paused_agent(scratch: Scratch) -> None:
    fake_agent(scratch, WILLING)
    with terminal(scratch, "Work") as screen:
        wait_for(lambda: screen.read() and (scratch.home / "ready").exists(), "the agent")
        agent = int(told(scratch, "ready"))
        screen.press(CTRL_Z)
        wait_for(lambda: process_state(agent) == "T", "the agent to stop")
        end(screen.pid)
        wait_for(lambda: not runs(agent), "the end of the agent")


def test_an_agent_that_opens_the_terminal_is_never_stopped_by_it(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
try:
    with open("/dev/tty", "r+") as screen:
        screen.write("hello")
        screen.read(1)
except OSError as error:
    tell("tty", error.strerror)
say(PROMISE)
""",
    )
    with terminal(scratch, "Work") as screen:
        assert screen.wait() == 0
    assert told(scratch, "tty")


def test_a_stop_is_seen_while_the_loop_pauses_after_errors(scratch: Scratch) -> None:
    shell_agent(scratch, "exit 1")
    with running(scratch, "Work", env={"SPOOL_ERROR_PAUSE": "50"}) as runner:
        wait_for(
            lambda: (
                (scratch.state / "journal.jsonl").exists()
                and any(event["type"] == "Waiting" for event in invariants.lines(scratch.state / "journal.jsonl"))
            ),
            "the pause",
        )
        runner.terminate()
        assert runner.wait(30) == 130
    invariants.complete(scratch)
