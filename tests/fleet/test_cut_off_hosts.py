"""Hosts that freeze or lose their lines: what they do later has no effect."""

import pytest

from tests.fleet.support import Fleet, reach
from tests.support import wait_for

pytestmark = pytest.mark.long  # waits for heartbeats that are missing

CHANGE = "001-01_work"


def test_a_frozen_host_that_comes_back_changes_nothing(fleet: Fleet) -> None:
    fleet.make(CHANGE)
    zombie = fleet.host("zombie")
    fleet.hold(CHANGE)
    fleet.submit(CHANGE)
    fleet.working(CHANGE)
    zombie.freeze()
    fleet.host("other")
    fleet.working(CHANGE, times=2)  # its agent waits as well: the frozen host comes back in the middle of its run
    claimed = fleet.mark(CHANGE)
    assert claimed["epoch"] == 2
    fleet.release(CHANGE)
    zombie.thaw()
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    assert fleet.history(CHANGE) == [(1, "interrupted"), (2, "completed"), (3, "completed")]
    fleet.swept(zombie)
    assert [one["step"] for one in zombie.steps()] == ["clone", "claim", "gate", "agent"]
    assert "given the change to another host" in zombie.said() or "could not be renewed" in zombie.said()


def test_a_partitioned_host_stops_its_agent_before_another_one_starts(fleet: Fleet) -> None:
    """Neither the server nor the remotes are reachable; the agent of the cut-off host runs on until its lease ends."""
    fleet.make(CHANGE)
    alone = fleet.host("alone")
    fleet.hold(CHANGE)
    fleet.submit(CHANGE)
    fleet.working(CHANGE)
    alone.proxy.cut()
    reach(alone.home, fleet.base / "nowhere")
    wait_for(lambda: "could not be renewed" in alone.said(), "the end of the lease")
    fleet.host("other")
    fleet.working(CHANGE, times=2)
    assert not list((alone.home / ".local/share/spool/fleet/runs").glob("*"))
    fleet.release(CHANGE)
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    alone.proxy.mend()
    reach(alone.home, fleet.base)
    assert fleet.history(CHANGE) == [(1, "interrupted"), (2, "completed"), (3, "completed")]


def test_a_task_that_lay_in_a_frozen_host_is_refused(fleet: Fleet) -> None:
    """The host has an attempt and the snapshot, and freezes before its claim; when it wakes up, a later one has it."""
    fleet.make(CHANGE)
    fleet.hold(CHANGE)
    sleeper = fleet.host("sleeper", dead_at="clone")
    fleet.submit(CHANGE)
    sleeper.reaches("clone")
    fleet.host("other")
    fleet.working(CHANGE)
    claimed = fleet.mark(CHANGE)["token"]
    assert claimed[2] > 1
    sleeper.wake("clone")
    refused = ("a later attempt has it", "given the change to another host", "could not be renewed")
    wait_for(lambda: any(why in sleeper.said() for why in refused), "the end of the old attempt")
    fleet.release(CHANGE)
    fleet.ends(CHANGE)
    fleet.is_exact(CHANGE)
    claims = [one["token"] for one in sleeper.steps() if one["step"] == "claim"]
    assert all(token > claimed for token in claims), (claims, claimed)
