"""A host dies at each step; another one continues, and nothing runs twice in effect."""

import pytest

from tests.fleet.support import Fleet, git
from tests.support import wait_for

pytestmark = pytest.mark.long  # a host per step

STEPS = ("clone", "claim", "gate", "agent", "end", "result", "completion")
_TWICE = [(1, "interrupted"), (2, "completed"), (3, "completed")]
_ONCE = [(1, "completed"), (2, "completed")]
HISTORIES = {
    "clone": _ONCE,
    "claim": _ONCE,
    "gate": _TWICE,
    "agent": _TWICE,
    "end": [(1, "completed"), (2, "interrupted"), (3, "completed")],
    "result": _ONCE,
    "completion": _ONCE,
}
"""The iteration that was in flight when the host died is interrupted in the history, never lost and never a success."""
EPOCHS = {"clone": 1, "result": 1, "completion": 1}


def test_a_host_killed_at_each_step_loses_at_most_its_iteration(fleet: Fleet) -> None:
    changes = [f"00{n}-01_change-{n}" for n in range(len(STEPS))]
    fleet.make(*changes)
    hosts = {step: fleet.host(step, dead_at="" if step == "agent" else step) for step in STEPS}
    for host in hosts.values():
        wait_for(lambda host=host: "takes changes" in host.said(), host.name)  # type: ignore[misc]
    for change in changes:
        fleet.hold(change)
    fleet.submit("--all")
    killed = {}
    for step in ("clone", "claim", "gate"):
        killed[step] = hosts[step].reaches(step)
        hosts[step].kill()
    taken = wait_for(lambda: [one["change"] for one in hosts["agent"].steps()], "the host with an agent")[0]
    killed["agent"] = taken
    fleet.working(taken)
    hosts["agent"].kill()
    for change in changes:
        fleet.release(change)
    for step in ("end", "result", "completion"):
        killed[step] = hosts[step].reaches(step)
        hosts[step].kill()
    assert sorted(killed.values()) == changes
    fleet.host("rescue", slots=4)
    fleet.ends(*changes)
    for step, change in killed.items():
        fleet.is_exact(change)
        assert fleet.history(change) == HISTORIES[step], step
        assert fleet.mark(change)["epoch"] == EPOCHS.get(step, 2), step
        stories = [(one["story_id"], one["attempt"]) for one in fleet.records(change, "history.jsonl")]
        assert all(attempt == 1 for _, attempt in stories), (step, stories)
        held = git("log", "--format=%s", f"refs/spool/fleet/{change}", cwd=fleet.snapshots)
        assert held.count('"stage":') == 1, "a snapshot holds none of those before it"
    assert not any(one["secrets"] for one in fleet.agents())
