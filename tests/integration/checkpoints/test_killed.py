"""Killed with -9 at any moment, a save, a revert or a drop leaves something that another revert can finish."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.checkpoints.world import Picture, World, differences, remove, run
from tests.support.scale import SEED, trials

_VICTIM = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from spool.domain.loop.checkpoint import Beginning
from spool.host.git.checkpoints.beginnings import Beginnings
from tests.integration.checkpoints.world import World, run
world = World(Path(sys.argv[1]), init=False)
checkpoints = world.checkpoints()
saved = run(checkpoints.current())
print("ready", flush=True)
while True:
    if sys.argv[2] == "save":
        run(checkpoints.save("again"))
    elif sys.argv[2] == "revert":
        run(checkpoints.revert(saved))
        break
    elif sys.argv[2] == "drop":
        run(checkpoints.drop())
        run(checkpoints.save("again"))
    elif sys.argv[2] == "restore":
        run(checkpoints.restore(run(checkpoints.discarded())[0].name))
        break
    elif sys.argv[2] == "undo":
        begun = Beginnings(checkpoints, now=lambda: datetime.now(UTC))
        run(begun.finish_cut_short())
        run(begun.undo(Beginning.STORY, lambda time: time > 0))
        break
print("done", flush=True)
"""


def test_killed_in_a_revert(tmp_path: Path) -> None:
    world = world_with_files(tmp_path)
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    chance = random.Random(SEED)
    for number in range(trials(60, least=6)):
        agent_works(world, number)
        attempt = world.picture()
        kill(world, "revert", chance.uniform(0, 0.45))
        again = world.checkpoints()
        found = run(again.current())
        assert found is not None
        if not found.half_reverted:
            now = world.picture()
            assert now == attempt or differences(now, before) == []
        run(again.revert(found))
        assert differences(world.picture(), before) == []
        assert not found.half_reverted or _some_attempt_is(again, world, attempt, before)
        assert run(again.current()) == saved


@pytest.mark.parametrize("what", ["save", "drop"])
def test_killed_in_a_save_or_a_drop(tmp_path: Path, what: str) -> None:
    world = world_with_files(tmp_path)
    before = world.picture()
    run(world.checkpoints().save("story 1"))
    chance = random.Random(SEED)
    for number in range(trials(40, least=5)):
        kill(world, what, chance.uniform(0, 0.3))
        assert differences(world.picture(), before) == []
        checkpoints = world.checkpoints()
        found = run(checkpoints.current())
        if found is None:
            assert what == "drop"
            found = run(checkpoints.save("anew"))
        agent_works(world, number)
        run(checkpoints.revert(found))
        assert differences(world.picture(), before) == []
    run(world.checkpoints().cleanup())
    assert "/add-auth/" not in world.git("for-each-ref", "refs/spool")


def test_killed_while_an_attempt_is_restored(tmp_path: Path) -> None:
    world = world_with_files(tmp_path)
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    agent_works(world, 1)
    attempt = world.picture()
    discarded = run(checkpoints.revert(saved))
    assert discarded is not None
    for moment in (0.05, 0.15, 0.25, 0.35):
        kill(world, "restore", moment)
        assert run(world.checkpoints().cut_short()) in (None, discarded.name)
        run(world.checkpoints().restore(discarded.name))
        assert differences(world.picture(), attempt) == []
        run(world.checkpoints().revert(saved))


def _some_attempt_is(checkpoints: object, world: World, attempt: Picture, before: Picture) -> bool:
    """Whether the agent's work, cut short as the revert was, is still among what is kept."""
    from spool.host.git.checkpoints.checkpoints import Checkpoints

    assert isinstance(checkpoints, Checkpoints)
    for kept in reversed(run(checkpoints.discarded())[-3:]):
        run(checkpoints.restore(kept.name))
        if world.picture() == attempt:
            saved = run(checkpoints.current())
            assert saved is not None
            run(checkpoints.revert(saved))
            return world.picture() == before
    return False


def world_with_files(base: Path) -> World:
    world = World(base)
    for number in range(200):
        world.write(f"folder{number % 7}/{number}", f"{number}\n" * 30)
    world.write(".gitignore", ".env\n")
    world.write(".env", "SECRET=1\n")
    world.commit("first")
    world.write("folder1/1", "changed\n")
    world.git("add", "folder1/1")
    (world.top / "empty").mkdir()
    return world


def agent_works(world: World, number: int) -> None:
    for name in range(0, 200, 3):
        world.write(f"folder{name % 7}/{name}", f"agent {number}\n" * 30)
    remove(world.top / "folder2")
    remove(world.top / "empty")
    world.write(".env", f"SECRET={number}\n")
    world.write("new/file", "agent\n")
    (world.top / "folder1/1").chmod(0o600)
    world.git("checkout", "-q", "-B", f"agent{number % 2}")
    world.commit("agent")


def kill(world: World, what: str, after_s: float) -> None:
    """Start it, and kill it, and whatever git it was running, at some moment."""
    victim = subprocess.Popen(
        [sys.executable, "-c", _VICTIM, str(world.base), what],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert victim.stdout is not None
    assert victim.stdout.readline() == b"ready\n"
    time.sleep(after_s)
    children = Path(f"/proc/{victim.pid}/task/{victim.pid}/children")
    gits = children.read_text().split() if children.exists() else []
    os.kill(victim.pid, signal.SIGKILL)
    for git in gits:
        try:
            os.kill(int(git), signal.SIGKILL)
        except ProcessLookupError:
            continue
    victim.wait()
    victim.stdout.close()
