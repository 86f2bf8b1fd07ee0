"""The runner and the supervisor are killed in the same instant, so that neither can end what the other left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spool.host.agents.control_group import make_group
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
    running,
    runs,
    shell_agent,
    supervisor_of,
    told,
    without_control_groups,
)

_MAKES_GROUP = """
from spool.host.agents.control_group import make_group
group = make_group()
group.remove()
print("made")
"""
ISOLATED = {"SPOOL_ISOLATE_PROCESSES": "true"}


def kill_at_once(runner: int, *others: int) -> None:
    """Stop all of them before the first one dies, so that none can act on the death of another."""
    victims = (supervisor_of(runner), *others, runner)
    for pid in victims:
        end(pid, signal.SIGSTOP)
    for pid in victims:
        wait_for(lambda pid=pid: process_state(pid) in "TZ", "the process to stop")  # type: ignore[misc]
    for pid in victims:
        end(pid)


def guard_of(scratch: Scratch) -> int:
    """Return the shell that waits for the end of the run."""
    return next(pid for pid, words in marked(scratch).items() if "cgroup.kill" in words)


@pytest.fixture
def groups_allowed() -> None:
    group = make_group()
    if group is None:
        pytest.skip("no control group may be created here")
    group.remove()


@pytest.mark.root(always=False)
@pytest.mark.usefixtures("groups_allowed")
def test_nobody_is_left_where_a_control_group_is_allowed(scratch: Scratch) -> None:
    fake_agent(scratch, FAMILY)
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        wait_for(lambda: len(agents(scratch)) >= 7, "the whole family")
        kill_at_once(runner.pid)
        nobody_left(scratch, 30)
    wait_for(lambda: not marked(scratch), "the guard to leave")
    shell_agent(scratch, f"echo '{PROMISE}'")
    assert scratch.ralph("Work").returncode == 0
    invariants.complete(scratch)


@pytest.mark.root(always=False)
@pytest.mark.usefixtures("groups_allowed")
def test_the_next_run_ends_what_is_left_when_the_guard_dies_too(scratch: Scratch) -> None:
    fake_agent(scratch, FAMILY)
    for _ in range(10):  # the next run may be one of a test beside this one, which then was faster
        with running(scratch, "Work") as runner:
            told(scratch, "ready")
            wait_for(lambda: len(agents(scratch)) >= 7, "the whole family")
            kill_at_once(runner.pid, guard_of(scratch))
            if agents(scratch):
                break
    else:
        pytest.fail("nobody was left, so the test shows nothing")
    shell_agent(scratch, f"echo '{PROMISE}'")
    assert scratch.ralph("Work").returncode == 0
    nobody_left(scratch, 30)


def _lasting(scratch: Scratch) -> set[int]:
    """Return the family without its naps of a second, which end by themselves."""
    return {pid for pid, words in agents(scratch).items() if words.split() != ["sleep", "1"]}


@pytest.mark.root(always=False)
@pytest.mark.usefixtures("groups_allowed")
def test_a_run_in_another_pid_namespace_leaves_the_agents_of_this_one_alone(scratch: Scratch) -> None:
    """There, no pid of here is seen: every run of here looks gone."""
    fake_agent(scratch, FAMILY)
    elsewhere = [need("unshare"), "--pid", "--fork", "--mount-proc", sys.executable, "-c", _MAKES_GROUP]
    with running(scratch, "Work"):
        told(scratch, "ready")
        wait_for(lambda: len(_lasting(scratch)) >= 7, "the whole family")
        family = _lasting(scratch)
        done = subprocess.run(elsewhere, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if "not permitted" in done.stderr:
            pytest.skip(done.stderr)
        assert done.stdout == "made\n", done.stderr
        assert all(runs(pid) for pid in family)


@pytest.mark.root
def test_without_a_control_group_the_agent_itself_is_gone(scratch: Scratch) -> None:
    """Its detached children may stay; docs/evidence.md names this limit."""
    fake_agent(scratch, FAMILY)
    argv = without_control_groups(scratch.argv("ralph", "Work", "--change", CHANGE))
    with running(scratch, argv=argv) as runner:
        agent = int(told(scratch, "ready"))
        assert not any("cgroup.kill" in words for words in marked(scratch).values())
        kill_at_once(runner.pid)
        wait_for(lambda: not runs(agent), "the agent to die with its supervisor")
    for pid in agents(scratch):
        end(pid)


@pytest.mark.root
def test_nobody_is_left_in_a_pid_namespace(scratch: Scratch) -> None:
    fake_agent(scratch, FAMILY)
    argv = without_control_groups(scratch.argv("ralph", "Work", "--change", CHANGE))
    with running(scratch, argv=argv, env=ISOLATED) as runner:
        told(scratch, "ready")
        wait_for(lambda: len(agents(scratch)) >= 7, "the whole family")
        kill_at_once(runner.pid)
        nobody_left(scratch, 30)


def as_nobody(scratch: Scratch) -> list[str]:
    """Return the start of a command line that runs as a user without rights, in a project of that user."""
    if os.geteuid() != 0:
        return []
    for folder in scratch.root.parents[:4]:
        folder.chmod(folder.stat().st_mode | 0o055)
    for path in (scratch.root.parent, *scratch.root.parent.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    return [need("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.parametrize(
    ("agent", "code", "outcome", "words"),
    [
        (f"echo '{PROMISE}'", 0, "completed", ""),
        ("exit 3", 3, "harness error", "exited with code 3"),
        ("kill -TERM $$", 3, "harness error", "was killed by SIGTERM"),
    ],
)
@pytest.mark.parametrize("rights", ["root", "nobody"])
def test_an_agent_in_a_pid_namespace_ends_as_it_would_outside(
    scratch: Scratch, agent: str, code: int, outcome: str, words: str, rights: str
) -> None:
    shell_agent(scratch, f"echo $$ > $HOME/pid; {agent}")
    before = as_nobody(scratch) if rights == "nobody" else []
    argv = [*before, *scratch.argv("ralph", "Work", "--max-iterations", "1", "--change", CHANGE)]
    with running(scratch, argv=argv, env=ISOLATED, stderr=subprocess.PIPE) as runner:
        errors = runner.communicate(timeout=PATIENCE_S)[1].decode()
        if "a new pid namespace" in errors:
            pytest.skip(f"not allowed here: {errors}")
    assert runner.returncode == code, errors
    assert told(scratch, "pid") == "2\n"
    (record,) = scratch.history()
    assert (record["outcome"], record["reason"]) == (outcome, words)


def test_an_agent_in_a_pid_namespace_is_asked_to_stop(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        "signal.signal(signal.SIGINT, lambda *_: (tell('asked'), os._exit(0)))\ntell('ready')\ntime.sleep(1000)",
    )
    with running(scratch, "Work", env=ISOLATED) as runner:
        told(scratch, "ready")
        runner.terminate()
        assert runner.wait(60) == 130
    told(scratch, "asked")
    invariants.complete(scratch)


@pytest.mark.root(always=False)
@pytest.mark.usefixtures("groups_allowed")
def test_a_run_that_ends_leaves_no_group_and_no_guard(scratch: Scratch) -> None:
    shell_agent(scratch, f"cat /proc/self/cgroup > $HOME/group; echo '{PROMISE}'")
    assert scratch.ralph("Work").returncode == 0
    wait_for(lambda: not marked(scratch), "the guard to leave")
    own = next(line for line in (scratch.home / "group").read_text().splitlines() if line.startswith("0::"))
    name = Path(own).name
    assert name.startswith("spool.")
    group = make_group()
    assert group is not None
    assert not (group.path.parent / name).exists()
    group.remove()
