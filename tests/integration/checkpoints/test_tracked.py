"""What the user tracks in spite of their own rules is recorded, and their index asked only if its names may differ."""

from collections.abc import Callable

import pytest

from tests.integration.checkpoints.recording import recorder_of, settle
from tests.integration.checkpoints.world import World, run


def track_ignored(world: World, name: str = "kept.log") -> None:
    world.write(name, "1\n")
    world.git("add", "-f", name)
    world.git("commit", "-qm", "ignored, yet tracked")


def rewrite(world: World) -> None:
    """Give the index other bytes with the same names, as `git status` does."""
    world.write("committed", "another\n")
    world.git("add", "committed")


def test_an_index_with_the_same_names_is_listed_once_and_not_compared(world: World, asked: list[str]) -> None:
    recorder = recorder_of(world)
    settle(world, recorder)
    rewrite(world)
    run(recorder.record())  # compares, and remembers the names
    world.write("committed", "a third\n")
    world.git("add", "committed")
    asked.clear()
    run(recorder.record())
    assert asked.count("git ls-files") == 1


def test_an_index_with_the_same_bytes_is_not_listed(world: World, asked: list[str]) -> None:
    recorder = recorder_of(world)
    settle(world, recorder)
    rewrite(world)
    run(recorder.record())
    index = world.top / ".git/index"
    data = index.read_bytes()
    index.unlink()
    index.write_bytes(data)
    asked.clear()
    run(recorder.record())
    assert "git ls-files" not in asked


def gone_and_back(world: World, record: Callable[[], object]) -> None:
    (world.top / "kept.log").unlink()
    record()
    world.write("kept.log", "2\n")


def left_out_and_back(world: World, record: Callable[[], object]) -> None:
    """It is absent when the names are compared, and comes back later."""
    (world.top / "kept.log").unlink()
    rewrite(world)
    record()
    world.write("kept.log", "2\n")


def tracked_meanwhile(world: World, record: Callable[[], object]) -> None:
    record()
    track_ignored(world, "other.log")


@pytest.mark.parametrize("happens", [gone_and_back, left_out_and_back, tracked_meanwhile])
def test_what_is_tracked_yet_ignored_is_never_missed(
    world: World, happens: Callable[[World, Callable[[], object]], None]
) -> None:
    track_ignored(world)
    recorder = recorder_of(world)
    settle(world, recorder)
    rewrite(world)
    run(recorder.record())
    happens(world, lambda: run(recorder.record()))
    world.write("committed", "a third\n")
    world.git("add", "committed")
    after = run(recorder.record())
    recorder.shadow.forget()
    (recorder.shadow.git_dir / "known").unlink()
    assert after.tree == run(recorder_of(world).record()).tree
