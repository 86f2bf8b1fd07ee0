"""The cap of an account holds on all hosts together, whatever dies."""

import random
import time

import pytest

from tests.fleet.census import Census
from tests.fleet.support import Fleet
from tests.support import wait_for
from tests.support.scale import SEED

pytestmark = pytest.mark.long  # several hosts each; test_replay.py replays an account in `make test`

CAP = 3
KILLS = 4


def test_ten_changes_under_kills_never_pass_the_cap(fleet: Fleet) -> None:
    changes = [f"{n:03d}-01_change" for n in range(10)]
    fleet.make(*changes)
    chance, env = random.Random(SEED), {"FLEET_ACCOUNT": "team"}
    names = ["a", "b", "c"]
    hosts = {name: fleet.host(name, slots=2, env=env) for name in names}
    assert fleet.spool("fleet", "account", "team", "--cap", str(CAP)).returncode == 0
    census = Census(fleet.notes)
    fleet.submit("--all", "--account", "team", heartbeat=4)
    for number in range(KILLS):
        wait_for(lambda number=number: len(fleet.agents()) > 3 * number + 2, "more agents")  # type: ignore[misc]
        time.sleep(chance.random() / 2)
        name = chance.choice(names)
        hosts[name].kill()
        hosts[name] = fleet.host(name, slots=2, env=env)
    fleet.ends(*changes)
    assert 0 < census.end() <= CAP
    for change in changes:
        fleet.is_exact(change)
        outcomes = [outcome for _, outcome in fleet.history(change)]
        assert outcomes.count("completed") == 2, (change, outcomes)
    wasted = sum(outcome == "interrupted" for change in changes for _, outcome in fleet.history(change))
    assert len(fleet.agents()) <= 20 + wasted
    for host in hosts.values():
        fleet.swept(host)  # dead clones too


def test_what_waits_for_an_account_is_known_without_a_worker(fleet: Fleet) -> None:
    changes = ("001-01_one", "002-01_two")
    fleet.make(*changes)
    assert fleet.spool("fleet", "account", "idle", "--cap", "1").returncode == 0
    fleet.submit("--all", "--account", "idle", heartbeat=60)
    found = {name: (row["status"], row["account"]) for name, row in fleet.rows().items()}
    assert found == dict.fromkeys(changes, ("queued", "idle"))
    assert "at most 1 at once, 0 changes running, 2 waiting" in fleet.spool("fleet", "account", "idle").stdout
    shown = fleet.spool("fleet", "show", changes[0])
    assert f"{changes[0]}: queued" in shown.stdout
    again = fleet.spool("fleet", "submit", "--all", "--snapshots", "fleet://snapshots.git")
    assert (again.returncode, again.stderr.count("it is already in the fleet")) == (1, 2)
    stopped = fleet.spool("fleet", "stop", changes[0])
    assert (stopped.returncode, "stopped before it ran" in stopped.stdout) == (0, True)
    assert set(fleet.rows()) == {changes[1]}
    fleet.submit(changes[0], heartbeat=60)  # no host has taken it, so it is submitted as it is now
    assert fleet.mark(changes[0])["account"] == ""


def test_a_lower_cap_holds_for_what_starts_next_and_a_queued_change_can_be_stopped(fleet: Fleet) -> None:
    changes = ("001-01_one", "002-01_two", "003-01_three")
    fleet.make(*changes)
    assert fleet.spool("fleet", "account", "narrow", "--cap", "1").returncode == 0
    for change in changes:
        fleet.hold(change)
    fleet.host("a", slots=3, env={"FLEET_ACCOUNT": "narrow"})
    fleet.submit("--all", "--account", "narrow", heartbeat=60)
    first = wait_for(fleet.agents, "an agent")[0]["change"]
    queued = [change for change, row in fleet.rows().items() if row["status"] == "queued"]
    assert sorted([first, *queued]) == sorted(changes)
    again = fleet.spool("fleet", "submit", queued[0], "--account", "narrow", "--snapshots", "fleet://snapshots.git")
    assert again.returncode == 1
    assert "already in the fleet" in again.stderr
    stopped = fleet.spool("fleet", "stop", queued[0])
    assert stopped.returncode == 0, stopped.stderr
    for change in changes:
        fleet.release(change)
    fleet.ends(*(change for change in changes if change != queued[0]))
    assert not fleet.agents(queued[0])
