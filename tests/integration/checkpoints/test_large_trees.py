"""A tree of any size is saved and restored in commands that each have their time; what is cut short is due."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spool.errors import CommandTimeout, SpoolError
from spool.host.git import bounded_work
from spool.host.git.checkpoints.checkpoints import Checkpoints
from tests.integration.checkpoints.test_full_disk import fill, small_disk  # noqa: F401 - a fixture
from tests.integration.checkpoints.world import CHANGE, World, as_root, differences, run
from tests.support.scale import trials

FILES = trials(100_000, least=1_000) // 4  # the suite's slice is thin: each file is synced
_REVERT = """
import sys
from pathlib import Path
from spool.host.git import bounded_work
from tests.integration.checkpoints.world import World, run
bounded_work.MOST_PATHS = int(sys.argv[2])
checkpoints = World(Path(sys.argv[1]), init=False).checkpoints()
run(checkpoints.revert(run(checkpoints.current())))
"""


def _write(world: World, word: str, count: int) -> None:
    for number in range(count):
        world.write(f"d{number // 200:04}/{number:06}", f"{word} {number}\n")


def _slow_git(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    *,
    paths_per_s: int = 1_000,
    revs_s: int = 0,
    hangs_after: int = 999,
) -> Path:
    """Put a git first on PATH that takes its time for each name that a command gets; return its list of numbers."""
    folder, calls = world.base / "bin", world.base / "calls"
    folder.mkdir(exist_ok=True)
    (folder / "git").write_text(
        f"""#!/bin/sh
PATH="{os.environ["PATH"]}"
case " $* " in *" {command} "*)
    list="{world.base}/list.$$"
    cat > "$list"
    count=$(tr -cd '\\0\\n' < "$list" | wc -c)
    echo "$count" >> "{calls}"
    case " $* " in *" --revs "*) sleep {revs_s};; esac
    [ "$(wc -l < "{calls}")" -le {hangs_after} ] || sleep 3600
    sleep "$(awk "BEGIN {{ print $count / {paths_per_s} }}")"
    exec git "$@" < "$list"
esac
exec git "$@"
"""
    )
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return calls


@pytest.mark.long
def test_a_slow_git_gets_smaller_pieces_until_the_tree_is_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_work, "MOST_PATHS", 200)
    _write(world, "mine", 250)
    saved, before = run(world.checkpoints().save("story 1")), world.picture()
    _write(world, "agent", 250)
    repository = world.repository()
    calls = _slow_git(world, monkeypatch, "checkout-index", paths_per_s=25)
    checkpoints = Checkpoints(repository, CHANGE, now=lambda: saved.saved_at, timeout_s=6)
    discarded = run(checkpoints.revert(saved))
    assert discarded is not None
    assert discarded.warnings == ()
    assert differences(world.picture(), before) == []
    counts = [int(line) for line in calls.read_text().split()]
    assert counts[:2] == [200, 100]
    assert not run(checkpoints.cut_short())


@pytest.mark.parametrize("command", ["update-index", pytest.param("pack-objects", marks=pytest.mark.long)])
def test_a_slow_git_saves_a_first_checkpoint_in_pieces(
    world: World, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(bounded_work, "MOST_PATHS", 60)
    _write(world, "mine", 70)
    before, repository = world.picture(), world.repository()
    calls = _slow_git(world, monkeypatch, command, paths_per_s=10, revs_s=60)
    checkpoints = Checkpoints(repository, CHANGE, now=lambda: datetime.now(UTC), timeout_s=5)
    saved = run(checkpoints.save("story 1"))
    assert len(calls.read_text().split()) > 3
    monkeypatch.undo()
    _write(world, "agent", 70)
    run(world.checkpoints().revert(saved))
    assert differences(world.picture(), before) == []


def _cut_revert(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a revert of 60 files with a git that hangs for ever after the first 40."""
    saved, repository = run(world.checkpoints().current()), world.repository()
    assert saved is not None
    with monkeypatch.context() as patch:
        patch.setattr(bounded_work, "MOST_PATHS", 20)
        _slow_git(world, patch, "checkout-index", hangs_after=2)
        with pytest.raises(CommandTimeout):
            run(Checkpoints(repository, CHANGE, now=lambda: datetime.now(UTC), timeout_s=2).revert(saved))


def test_a_revert_that_is_cut_is_due_and_the_next_save_finishes_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a checkpoint nor a discarded attempt is ever made of the mixture of two trees."""
    _write(world, "mine", 60)
    run(world.checkpoints().save("story 1"))
    before = world.picture()
    _write(world, "agent", 60)
    attempt = world.picture()
    _cut_revert(world, monkeypatch)
    assert world.picture() not in (before, attempt)
    again = world.checkpoints()
    left = run(again.current())
    assert left is not None
    assert left.half_reverted
    run(again.save("story 2"))
    assert differences(world.picture(), before) == []
    [kept] = run(again.discarded())
    run(again.restore(kept.name))
    assert differences(world.picture(), attempt) == []


def test_what_a_person_writes_into_half_a_tree_is_kept_when_the_revert_is_finished(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(world, "mine", 60)
    run(world.checkpoints().save("story 1"))
    before = world.picture()
    _write(world, "agent", 60)
    _cut_revert(world, monkeypatch)
    world.write("committed", "a person's\n")
    again = world.checkpoints()
    run(again.drop())  # as with --fresh
    assert differences(world.picture(), before) == []
    kept = run(again.discarded())
    assert len(kept) == 2
    run(again.restore(kept[1].name))
    assert (world.top / "committed").read_text() == "a person's\n"


def test_killed_in_the_middle_of_a_large_revert(world: World) -> None:
    _write(world, "mine", FILES)
    saved, before = run(world.checkpoints().save("story 1")), world.picture()
    _write(world, "agent", FILES)
    attempt = world.picture()
    victim = subprocess.Popen(
        [sys.executable, "-c", _REVERT, str(world.base), str(min(2_000, FILES // 20))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])},
    )
    third = world.top / f"d{FILES // 3 // 200:04}/{FILES // 3:06}"
    with suppress(FileNotFoundError):  # git removes a file before it writes it
        while victim.poll() is None and third.read_text().startswith("agent"):
            time.sleep(0.001)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    again = world.checkpoints()
    assert run(again.cut_short()) == CHANGE
    run(again.finish())
    assert differences(world.picture(), before) == []
    assert run(again.cut_short()) is None
    run(again.restore(run(again.discarded())[0].name))
    assert differences(world.picture(), attempt) == []
    run(again.revert(saved))
    assert differences(world.picture(), before) == []


@as_root
def test_a_disk_that_fills_up_in_the_middle_of_a_revert_leaves_it_due(small_disk: Path) -> None:  # noqa: F811
    world = World(small_disk)
    for number in range(30):
        world.write(f"src/{number}", os.urandom(20_000))
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    for number in range(30):
        world.write(f"src/{number}", "agent\n")
    attempt = world.picture()
    filled = fill(small_disk, 300_000)
    with pytest.raises(SpoolError, match="No space left on device"):
        run(checkpoints.revert(saved))
    assert world.picture() not in (before, attempt)
    assert run(checkpoints.cut_short()) == CHANGE
    filled.unlink()
    run(world.checkpoints().finish())
    assert differences(world.picture(), before) == []
    run(checkpoints.restore(run(checkpoints.discarded())[0].name))
    assert differences(world.picture(), attempt) == []
