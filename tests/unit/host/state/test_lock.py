"""Who gets the lock when its last holder was killed, and who does not."""

import fcntl
import os
import subprocess
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spool.domain.loop.summary import Runner
from spool.errors import LockedError, StateError
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


def _refused(folder: Path, place: Path) -> None:
    with pytest.raises(LockedError), held(folder, [place], holder(this_runner())):
        pass


def test_a_link_to_a_working_tree_is_the_same_working_tree(tmp_path: Path) -> None:
    tree, link = tmp_path / "tree", tmp_path / "link"
    tree.mkdir()
    link.symlink_to(tree)
    with held(tmp_path / "locks", [tree], holder(this_runner())):
        _refused(tmp_path / "locks", link)


def test_a_working_tree_that_was_moved_is_still_locked(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    with held(tmp_path / "locks", [tree], holder(this_runner())):
        _refused(tmp_path / "locks", tree.rename(tmp_path / "moved"))


def test_a_working_tree_that_was_made_anew_is_still_locked(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    with held(tmp_path / "locks", [tree], holder(this_runner())):
        tree.rename(tmp_path / "moved")
        tree.mkdir()
        _refused(tmp_path / "locks", tree)


@pytest.mark.root
def test_a_bind_mount_of_a_working_tree_is_the_same_working_tree(tmp_path: Path) -> None:
    tree, mounted = tmp_path / "tree", tmp_path / "mounted"
    tree.mkdir()
    mounted.mkdir()
    if subprocess.run(["mount", "--bind", tree, mounted], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with held(tmp_path / "locks", [tree], holder(this_runner())):
            _refused(tmp_path / "locks", mounted)
    finally:
        subprocess.run(["umount", mounted], check=True)


@pytest.mark.root
def test_locks_of_another_user_are_refused_plainly(tmp_path: Path) -> None:
    with held(tmp_path / "locks", [tmp_path], holder(this_runner())):
        child = os.fork()
        if not child:
            with suppress(LockedError):
                os.setuid(65534)
                with held(tmp_path / "locks", [tmp_path], holder(this_runner())):
                    os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    with held(tmp_path / "locks", [tmp_path], holder(this_runner())):
        pass
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for lock in (tmp_path / "locks").glob("*.lock"):
        lock.unlink()
        lock.symlink_to(precious)
    with pytest.raises(StateError), held(tmp_path / "locks", [tmp_path], holder(this_runner())):
        pass
    assert precious.read_text() == "mine"
