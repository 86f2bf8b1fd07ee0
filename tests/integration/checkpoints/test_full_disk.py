"""A git that loses objects and exits with 0, as on a full disk, spoils neither this checkpoint nor the next."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from spool.errors import SpoolError
from spool.host.git.working_tree import GitWorktree
from tests.integration.checkpoints.losing_git import _losing_git
from tests.integration.checkpoints.world import World, as_root, entries, run


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(disk: Path, left: int) -> Path:
    """Fill a disk but for some bytes."""
    path = disk / "fill"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            file.truncate(max(0, file.tell() - left))
    return path


@as_root
@pytest.mark.parametrize("left", [0, 4096, 12288, 40960])
@pytest.mark.parametrize("moment", ["save", "revert"])
def test_a_full_disk_changes_nothing_and_the_next_try_works(small_disk: Path, moment: str, left: int) -> None:
    world = World(small_disk)
    world.write("file", "1\n")
    world.commit("first")
    for number in range(40):
        world.write(f"src/{number}", os.urandom(2000))
    checkpoints, before = world.checkpoints(), world.picture()
    if moment == "save":
        filled = fill(small_disk, left)
        with pytest.raises(SpoolError):
            run(checkpoints.save("story 1"))
        filled.unlink()
        assert world.picture() == before
    saved = run(checkpoints.save("story 1"))
    for number in range(40):
        world.write(f"src/{number}", os.urandom(2000))
    attempt = world.picture()
    if moment == "revert":
        filled = fill(small_disk, left)
        with pytest.raises(SpoolError):
            run(checkpoints.revert(saved))
        filled.unlink()
        assert world.picture() == attempt
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert world.picture() == attempt


@pytest.mark.parametrize("command", ["update-index", "write-tree"])
def test_objects_lost_once_cost_nothing(world: World, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    checkpoints = world.checkpoints()
    world.write("deep/er/file", "mine\n")
    saved, before = run(checkpoints.save("story 1")), entries(world.top)
    world.write("committed", "agent\n")
    world.write("deep/er/file", "agent\n")
    world.write("deep/new/file", "agent\n")
    attempt = entries(world.top)
    _losing_git(world, monkeypatch, command, 1)
    discarded = run(world.checkpoints().revert(saved))
    assert not (world.base / "left").read_text()
    assert entries(world.top) == before
    assert discarded is not None
    run(world.checkpoints().restore(discarded.name))
    assert entries(world.top) == attempt


@pytest.mark.parametrize("command", ["update-index", "write-tree"])
def test_the_next_revert_works_after_one_that_failed(
    world: World, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    checkpoints = world.checkpoints()
    saved, before = run(checkpoints.save("story 1")), entries(world.top)
    world.write("committed", "agent\n")
    world.write("deep/new/file", "agent\n")
    with monkeypatch.context() as patch:
        _losing_git(world, patch, command, 100)
        for _ in range(2):
            with pytest.raises(Exception, match="failed with code"):
                run(world.checkpoints().revert(saved))
    run(world.checkpoints().revert(saved))
    assert entries(world.top) == before


def test_a_first_checkpoint_that_lost_objects_is_made_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _losing_git(world, monkeypatch, "write-tree", 1)
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    world.write("committed", "agent\n")
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


def test_changes_are_counted_after_objects_were_lost(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    worktree = GitWorktree(world.repository(), timeout_s=30)
    run(worktree.mark())
    _losing_git(world, monkeypatch, "write-tree", 1)
    world.write("deep/new/file", "agent\n")
    found = run(worktree.changes(()))
    assert found is not None and found.files == ("deep/new/file",)


def test_objects_that_vanish_from_a_shadow_at_rest_cost_nothing(world: World) -> None:
    """Nothing has changed, so nothing would be written: the loss shows when the checkpoint is named."""
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    before = entries(world.top)
    shadow = next((world.top / ".git/spool/shadow").iterdir())
    for path in [*shadow.glob("objects/??/*"), *shadow.glob("objects/pack/*")]:
        path.unlink()
    saved = run(world.checkpoints("another").save("story 1"))
    world.write("committed", "agent\n")
    run(world.checkpoints("another").revert(saved))
    assert entries(world.top) == before
