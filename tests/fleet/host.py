"""A host of the tests: a worker that says each step, and freezes at one of them.

`python -m tests.fleet.host NAME SLOTS [STEP]`: at STEP it writes HOME/at-STEP, and does nothing until that is gone.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from spool.fleet.values import RunStep, SnapshotMark
from spool.fleet.worker.hosts import Host
from spool.fleet.worker.worker import Service

HOME = Path(os.environ["HOME"])


def main(name: str, slots: str, dead_at: str = "") -> None:
    froze: list[RunStep] = []

    def report(step: RunStep, mark: SnapshotMark) -> None:
        with (HOME / "steps.jsonl").open("a") as file:
            about = {"step": step, "change": mark.change, "epoch": mark.epoch, "iteration": mark.iteration}
            about["token"] = mark.token
            file.write(json.dumps(about) + "\n")
        # Once: a host that wakes up and finds the change taken looks at the snapshot again.
        if step == dead_at and not froze:
            froze.append(step)
            at = HOME / f"at-{step}"
            at.write_text(mark.change)
            while at.exists():  # nothing else of this process runs meanwhile, heartbeats included
                time.sleep(0.02)

    def say(line: str, *, hint: str = "") -> None:
        print(line, hint, flush=True)

    account = os.environ.get("FLEET_ACCOUNT", "")
    setup = os.environ.get("FLEET_SETUP", "")
    service = Service(Host(name=name, setup=setup), slots=int(slots), account=account, report=report, say=say)
    asyncio.run(service.run())
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
