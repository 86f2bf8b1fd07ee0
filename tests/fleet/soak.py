"""Many changes on three hosts, of which one dies every 20 seconds: `make fleet-soak`; prints what happened.

`python -m tests.fleet.soak [CHANGES] [SECONDS]`. docs/fleet.md has the last results.
"""

import collections
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tests.fleet.support import Fleet, WorkerHost, running_server
from tests.support.scale import SEED

NAMES = ("a", "b", "c")
SLOTS = 2
STORIES = 2
HEARTBEAT_S = 10
LONGEST_S = 4 * 3_600.0


class Killer:
    """Kills a host now and then, and starts it again."""

    def __init__(self, fleet: Fleet, every_s: float) -> None:
        self.kills = 0
        self._fleet, self._every_s = fleet, every_s
        self._hosts: dict[str, WorkerHost] = {name: fleet.host(name, slots=SLOTS) for name in NAMES}
        self._chance = random.Random(SEED)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._kill)

    def __enter__(self) -> "Killer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _kill(self) -> None:
        while not self._over.wait(self._every_s):
            name = self._chance.choice(NAMES)
            self._hosts[name].kill()
            self.kills += 1
            self._hosts[name] = self._fleet.host(name, slots=SLOTS)

    def left(self) -> int:
        return sum(len(list((host.home / ".local/share/spool/fleet/runs").glob("*"))) for host in self._hosts.values())


def main(count: int = 200, every_s: float = 20.0) -> int:
    with tempfile.TemporaryDirectory(prefix="spool-soak-") as folder:
        servers = running_server(Path(folder))
        server = next(servers)
        (Path(folder) / "fleet").mkdir()
        fleet = Fleet(Path(folder) / "fleet", server, "soak")
        try:
            found = _run(fleet, [f"{n:04d}-01_change" for n in range(count)], every_s)
        finally:
            fleet.close()
            next(servers, None)
    print(json.dumps(found, indent=1))
    return 0 if not found["wrong branches"] else 1


def _run(fleet: Fleet, changes: list[str], every_s: float) -> dict[str, Any]:
    fleet.make(*changes, stories=STORIES)
    began = time.monotonic()
    fleet.submit("--all", heartbeat=HEARTBEAT_S)
    submitted_s = time.monotonic() - began
    with Killer(fleet, every_s) as killer:
        fleet.ends(*changes, patience_s=LONGEST_S)
        took_s = time.monotonic() - began
    wrong = [change for change in changes if not _exact(fleet, change)]
    outcomes = collections.Counter(outcome for change in changes for _, outcome in fleet.history(change))
    return {
        "changes": len(changes),
        "hosts killed": killer.kills,
        "wrong branches": wrong,
        "agent starts": len(fleet.agents()),
        "agent starts needed": STORIES * len(changes),
        "outcomes": dict(outcomes),
        "hosts for a change": dict(collections.Counter(fleet.mark(change)["epoch"] for change in changes)),
        "dead clones left": killer.left(),
        "submitted in s": round(submitted_s, 1),
        "took s": round(took_s, 1),
        "changes a minute": round(60 * len(changes) / took_s, 1),
        "median s from one agent's end to the next one's start": _pause(fleet),
    }


def _exact(fleet: Fleet, change: str) -> bool:
    try:
        fleet.is_exact(change, STORIES)
    except AssertionError:
        return False
    return True


def _pause(fleet: Fleet) -> float:
    """Return what Spool takes between two agents of a change: record, judge, commit, checkpoint, snapshot."""
    ended = {(one["change"], one["iteration"]): one["t"] for one in fleet.agents(what="end")}
    starts = {(one["change"], one["iteration"]): one["t"] for one in fleet.agents()}
    spans = [starts[change, n + 1] - t for (change, n), t in ended.items() if (change, n + 1) in starts]
    return round(statistics.median(spans), 2) if spans else 0.0


if __name__ == "__main__":
    sys.exit(main(*(kind(word) for kind, word in zip((int, float), sys.argv[1:], strict=False))))
