"""The process between the runner and its agents is killed, stopped, or cut off: nobody is left behind."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.faults import invariants
from tests.faults.family import FAMILY
from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for
from tests.support.machine import (
    PROMISE,
    agents,
    end,
    fake_agent,
    marked,
    need,
    nobody_left,
    process_state,
    release,
    running,
    runs,
    shell_agent,
    supervisor_of,
    told,
    without_control_groups,
)


def test_a_killed_runner_leaves_nobody(scratch: Scratch) -> None:
    fake_agent(scratch, FAMILY)
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        wait_for(lambda: len(agents(scratch)) >= 7, "the whole family")
        runner.kill()
        nobody_left(scratch)


def test_a_killed_supervisor_leaves_nobody_and_ends_the_run_with_a_clear_error(scratch: Scratch) -> None:
    fake_agent(scratch, FAMILY)
    with running(scratch, "Work", stderr=subprocess.PIPE) as runner:
        told(scratch, "ready")
        wait_for(lambda: len(agents(scratch)) >= 7, "the whole family")
        end(supervisor_of(runner.pid))
        _, errors = runner.communicate(timeout=PATIENCE_S)
        assert not agents(scratch)
    assert runner.returncode == 1
    assert b"the agent supervisor was killed" in errors
    invariants.complete(scratch)
    assert [(record["iteration"], record["outcome"]) for record in scratch.history()] == [(1, "interrupted")]
    assert "the agent supervisor was killed" in scratch.history()[0]["reason"]
    shell_agent(scratch, f"echo '{PROMISE}'")
    assert scratch.ralph("Work").returncode == 0
    invariants.complete(scratch)


def test_supervisor_and_then_runner_are_killed(scratch: Scratch) -> None:
    fake_agent(scratch, FAMILY)
    with running(scratch, "Work") as runner:
        agent = int(told(scratch, "ready"))
        end(supervisor_of(runner.pid))
        wait_for(lambda: not runs(agent), "the end of the agent, which dies with its supervisor")
        wait_for(lambda: not agents(scratch) or runner.poll() is not None, "the runner's sweep")
        runner.kill()
        nobody_left(scratch)


def test_a_stopped_supervisor_wakes_up_when_the_runner_dies(scratch: Scratch) -> None:
    fake_agent(scratch, FAMILY)
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        supervisor = supervisor_of(runner.pid)
        end(supervisor, signal.SIGSTOP)
        wait_for(lambda: process_state(supervisor) == "T", "the supervisor to stop")
        runner.kill()
        nobody_left(scratch)
        wait_for(lambda: not runs(supervisor), "the supervisor to leave")


def test_a_stopped_supervisor_does_not_hold_up_a_stop(scratch: Scratch) -> None:
    fake_agent(scratch, FAMILY)
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        supervisor = supervisor_of(runner.pid)
        end(supervisor, signal.SIGSTOP)
        wait_for(lambda: process_state(supervisor) == "T", "the supervisor to stop")
        runner.terminate()
        assert runner.wait(60) == 130
    assert not agents(scratch)
    invariants.complete(scratch)


def test_a_supervisor_that_is_stopped_between_iterations_wakes_up_for_the_next(scratch: Scratch) -> None:
    need("git")
    real_git = shutil.which("git")
    git = scratch.bin / "git"
    # While git records what iteration 1 did, no agent runs: that is when the supervisor is stopped.
    git.write_text(
        f"#!/bin/sh\nif [ -e {scratch.home}/first ] && [ ! -e {scratch.home}/go ]; then touch {scratch.home}/between\n"
        f'while [ ! -e {scratch.home}/go ]; do sleep 0.02; done; fi\nexec {real_git} "$@"\n'
    )
    git.chmod(0o755)
    fake_agent(scratch, "open('made', 'w').close()\ntell('first')\nsay('' if iteration == 1 else PROMISE)")
    with running(scratch, "Work") as runner:
        told(scratch, "between")
        supervisor = supervisor_of(runner.pid)
        end(supervisor, signal.SIGSTOP)
        wait_for(lambda: process_state(supervisor) == "T", "the supervisor to stop")
        release(scratch, "go")
        assert runner.wait(PATIENCE_S) == 0
    assert [record["outcome"] for record in scratch.history()] == ["no promise", "completed"]


UNREAD = """
import os, sys, time
import msgspec
from spool.host.agents.supervisor import Spawn, fork_supervisor

pid, line, _ = fork_supervisor()
home = os.environb[b"HOME"]
command = b"setsid sh -c 'trap \\"\\" TERM; sleep 1000 & touch " + home + b"/ready; sleep 1000' & sleep 1000"
spawn = Spawn(argv=(b"sh", b"-c", command), env=((b"SPOOL_RUN_ID", b"x"),), directory=b"/", stdin=b"/dev/null",
              stdout=home + b"/out", stderr=home + b"/err")
line.sendall(msgspec.json.encode(spawn) + b"\\n")
while not os.path.exists(home + b"/ready"):
    time.sleep(0.01)
os.kill(os.getpid(), 9)  # with the supervisor's report unread: its next read says ECONNRESET, not end of file
"""


def test_a_runner_that_dies_with_an_unread_report_leaves_nobody(scratch: Scratch) -> None:
    subprocess.run([sys.executable, "-c", UNREAD], env=scratch.env, timeout=PATIENCE_S, check=False)
    nobody_left(scratch)
    wait_for(lambda: not marked(scratch), "the supervisor to leave")


@pytest.mark.root
def test_processes_that_cannot_be_ended_are_told_and_hold_nobody_up(scratch: Scratch) -> None:
    """A descendant that runs as another user, by sudo for example: without CAP_KILL, not even root may signal it."""
    setpriv = need("setpriv")
    fake_agent(
        scratch,
        f"""
other = subprocess.Popen(["{setpriv}", "--reuid=65534", "--clear-groups", "sleep", "1000"])
while "65534" not in pathlib.Path(f"/proc/{{other.pid}}/status").read_text():
    time.sleep(0.01)
say(PROMISE)
""",
    )
    ralph = scratch.argv("ralph", "Work", "--change", CHANGE)
    without = without_control_groups([setpriv, "--bounding-set=-kill", *ralph])
    try:
        done = subprocess.run(
            without, cwd=scratch.root, env=scratch.env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "cannot stop processes" in done.stdout
    finally:
        for pid in agents(scratch):
            end(pid)


CHAINS = """
for _ in range(60):
    if os.fork() == 0:
        while not os.fork():
            pass
        os._exit(0)
say(PROMISE)
"""
"""Sixty processes, each of which forks and exits before anybody can signal it."""


def test_chains_of_forks_do_not_outrun_the_sweep(scratch: Scratch) -> None:
    fake_agent(scratch, CHAINS)
    with running(scratch, "Work") as runner:
        assert runner.wait(PATIENCE_S) == 0
        assert not agents(scratch)
    assert not [event for event in scratch.journal() if event["type"] == "Warning"]


def block() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})


def ignore() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


@pytest.mark.parametrize("launcher", [block, ignore])
def test_a_launcher_that_blocks_or_ignores_sigchld_does_not_hide_an_agents_end(
    scratch: Scratch, launcher: Callable[[], None]
) -> None:
    shell_agent(scratch, f"sleep 1; echo '{PROMISE}'")
    runner = scratch.start("ralph", "Work", "--change", CHANGE, "--idle-timeout", "30", preexec_fn=launcher)
    assert runner.wait(PATIENCE_S) == 0
    assert [record["outcome"] for record in scratch.history()] == ["completed"]
    assert scratch.history()[0]["changed_files"] == 0
