"""Who gets the lock when its last holder was killed, and who does not."""

import fcntl
import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spool.domain.loop import Runner
from spool.errors import LockedError
from spool.host.runner.identity import this_runner
from spool.host.state.lock import Holder, held
from spool.host.state.records import encoded

DEAD = Runner(pid=1, start_time="0", boot_id="", host="")


def holder(runner: Runner) -> Holder:
    return Holder(
        runner=runner, run_id="1", door="ralph", change="add-auth", directory="/project", since=datetime.now(UTC)
    )


def taken(folder: Path, by: Runner) -> int:
    """Return a descriptor that holds the lock, as one that a child has inherited does."""
    with held(folder, [folder], holder(by)):
        pass
    descriptor = os.open(next(folder.glob("*.lock")), os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.pwrite(descriptor, encoded(holder(by)), 0)
    return descriptor


def test_the_lock_of_a_dead_runner_is_waited_for_while_its_last_child_starts(tmp_path: Path) -> None:
    descriptor = taken(tmp_path, DEAD)

    def let_go() -> None:
        time.sleep(0.2)
        os.close(descriptor)

    child = threading.Thread(target=let_go)
    child.start()
    with held(tmp_path, [tmp_path], holder(this_runner())):
        child.join()


def test_the_lock_of_a_living_runner_is_refused_at_once(tmp_path: Path) -> None:
    descriptor = taken(tmp_path, this_runner())
    try:
        with (
            pytest.raises(LockedError, match="a loop on 'add-auth' is already running"),
            held(tmp_path, [tmp_path], holder(this_runner())),
        ):
            pass
    finally:
        os.close(descriptor)
