"""An agent and its descendants use more memory than they may."""

from __future__ import annotations

import json

from tests.faults import invariants
from tests.support import Scratch
from tests.support.machine import PROMISE, agents, fake_agent

HOARD = "hoard = bytearray(os.urandom(1 << 20) * {})\ntime.sleep(1000)\n"


def test_an_agent_over_its_memory_limit_is_ended_and_the_outcome_says_so(scratch: Scratch) -> None:
    fake_agent(scratch, f"say(PROMISE)\n{HOARD.format(300)}")
    done = scratch.ralph("Work", "--max-iterations", "1", env={"SPOOL_AGENT_MEMORY": "150M"})
    assert done.returncode == 3, done.stderr
    assert not agents(scratch)
    (record,) = scratch.history()
    assert (record["outcome"], record["reason"]) == ("memory limit", "used more than 150 MB of memory")
    assert not record["completion_found"]
    assert "used more than 150 MB of memory" in done.stdout
    assert "used more than 150 MB of memory" in scratch.ralph("--status").stdout
    ended = next(event for event in scratch.journal() if event["type"] == "IterationEnded")
    assert ended["record"]["reason"] == "used more than 150 MB of memory"
    invariants.complete(scratch)


def test_the_memory_of_detached_children_counts(scratch: Scratch) -> None:
    child = "import os, time\n" + HOARD.format(300)
    fake_agent(scratch, f"subprocess.Popen(['setsid', sys.executable, '-c', {child!r}])\ntime.sleep(1000)\n")
    scratch.ralph("Work", "--max-iterations", "1", env={"SPOOL_AGENT_MEMORY": "150m"})
    assert [record["outcome"] for record in scratch.history()] == ["memory limit"]
    assert not agents(scratch)


def test_memory_that_processes_share_counts_once(scratch: Scratch) -> None:
    """Six forks of an agent with 60 MB have 420 MB resident, and use 60."""
    fake_agent(
        scratch,
        """
hoard = os.urandom(60 << 20)
children = [os.fork() or (time.sleep(1.5), os._exit(0)) for _ in range(6)]
for child in children:
    os.waitpid(child, 0)
say(PROMISE)
""",
    )
    assert scratch.ralph("Work", env={"SPOOL_AGENT_MEMORY": "250M"}).returncode == 0


def test_agents_that_run_out_of_memory_again_and_again_end_the_loop(scratch: Scratch) -> None:
    fake_agent(scratch, HOARD.format(200))
    done = scratch.ralph("Work", env={"SPOOL_AGENT_MEMORY": "100M", "SPOOL_ERROR_THRESHOLD": "2"})
    assert done.returncode == 4
    assert scratch.load_state()["reason"] == (
        "memory limit: used more than 100 MB of memory; 2 failed iterations in a row"
    )


def test_a_size_that_cannot_be_read_is_refused(scratch: Scratch) -> None:
    for wrong in ("lots", "-1", "4X", "1M"):
        assert scratch.ralph("Work", env={"SPOOL_AGENT_MEMORY": wrong}).returncode == 2


def test_the_limit_is_part_of_the_run_and_of_its_configuration(scratch: Scratch) -> None:
    config = scratch.home / ".config" / "spool" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('agent_memory = "100M"\n')
    fake_agent(scratch, f"{HOARD.format(200)}\nsay('{PROMISE}')")
    done = scratch.ralph("Work", "--max-iterations", "1", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    reasons = [event["record"]["reason"] for event in events if event["type"] == "IterationEnded"]
    assert reasons == ["used more than 100 MB of memory"]
