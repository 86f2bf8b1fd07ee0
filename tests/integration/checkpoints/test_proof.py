"""Every tree is seen to be complete before it is named: by the pack that a checkpoint needs anyway, or by a walk."""

import subprocess
from pathlib import Path

import pytest

from spool.host.git.working_tree import GitWorktree
from tests.integration.checkpoints.losing_git import _losing_git
from tests.integration.checkpoints.recording import recorder_of
from tests.integration.checkpoints.world import World, entries, run


def shadow_of(world: World) -> Path:
    return next((world.top / ".git/spool/shadow").iterdir())


def held(world: World) -> set[str]:
    """Return the trees that git, not Spool, finds held in the shadow."""
    words = ["git", f"--git-dir={shadow_of(world)}", "for-each-ref", "--format=%(objecttype) %(refname:lstrip=4)"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert all(line.startswith("tree ") for line in lines)
    return {line.removeprefix("tree ") for line in lines}


def test_a_changed_tree_takes_one_pack_and_no_walk(world: World, asked: list[str]) -> None:
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    world.write("committed", "agent\n")
    asked.clear()
    run(checkpoints.save("story 2"))
    assert asked.count("git pack-objects") == 1
    assert asked.count("git update-ref") == 2  # the new tree is held, the old one is released
    assert "git rev-list" not in asked


def test_a_recorded_tree_is_walked_once(world: World, asked: list[str]) -> None:
    recorder = recorder_of(world)
    run(recorder.record())
    world.write("committed", "agent\n")
    asked.clear()
    run(recorder.record())
    run(recorder.record())
    assert asked.count("git rev-list") == 1
    assert "git pack-objects" not in asked


def test_git_finds_the_trees_that_are_held(world: World) -> None:
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    world.write("committed", "agent\n")
    saved = run(checkpoints.save("story 2"))
    assert held(world) == {saved.tree}
    run(checkpoints.drop())
    assert held(world) == set()


@pytest.mark.parametrize("command", ["update-index", "write-tree"])
def test_a_save_that_lost_objects_reads_the_files_again(
    world: World, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    world.write("deep/new/file", "mine\n")
    before = entries(world.top)
    with monkeypatch.context() as patch:
        _losing_git(world, patch, command, 1)
        saved = run(checkpoints.save("story 2"))
    world.write("deep/new/file", "agent\n")
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


def test_what_a_killed_save_did_not_prove_is_proved_by_the_next_record(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A save is killed after it has recorded a tree with objects that a full disk has lost, and before it packs."""
    worktree = GitWorktree(world.repository(), timeout_s=30)
    run(worktree.mark())
    world.write("deep/new/file", "agent\n")
    with monkeypatch.context() as patch:
        _losing_git(world, patch, "write-tree", 1)
        run(worktree.recorder.record(proves=False))
    found = run(worktree.changes(()))
    assert found is not None and found.files == ("deep/new/file",)


def test_in_a_partial_clone_every_tree_is_walked(world: World, asked: list[str]) -> None:
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    (world.top / ".git/objects/pack").mkdir(exist_ok=True)
    world.write(".git/objects/pack/pack-1.promisor")
    world.write("committed", "agent\n")
    asked.clear()
    run(checkpoints.save("story 2"))
    assert "git rev-list" in asked


@pytest.mark.parametrize("note", [b"", b"abcd", b"0" * 40, b"\xff\n"])
def test_a_damaged_note_of_the_last_proof_costs_nothing(world: World, note: bytes) -> None:
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    (shadow_of(world) / "proved").write_bytes(note)
    worktree = GitWorktree(world.repository(), timeout_s=30)
    run(worktree.mark())
    world.write("committed", "agent\n")
    found = run(worktree.changes(()))
    assert found is not None and found.files == ("committed",)
