"""A git directory that was removed, replaced, moved or copied: never another repository's HEAD."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from spool.errors import CheckpointError, CommandFailed
from spool.host.git.working_tree import GitWorktree
from tests.integration.checkpoints.world import World, as_root, entries, run


def _init(world: World, top: Path) -> None:
    world.git("init", "-q", "-b", "main", cwd=top)
    (top / "other").write_text("another repository\n")
    world.commit("another repository", cwd=top)


def _remove(world: World, top: Path) -> None:
    if (top / ".git").is_dir():
        shutil.rmtree(top / ".git")
    else:
        (top / ".git").unlink()


def _replace(world: World, top: Path) -> None:
    _remove(world, top)
    _init(world, top)


@pytest.mark.parametrize("spoil", [_remove, _replace])
@pytest.mark.parametrize("linked", [False, True])
def test_a_removed_or_replaced_git_directory_is_refused_and_nothing_changes(
    world: World, spoil: Callable[[World, Path], None], linked: bool
) -> None:
    top, main = world.top, world.picture()
    if linked:
        top = world.base / "linked"
        world.git("worktree", "add", "-q", str(top), "-b", "linked")
        main = world.picture()
    (top / "mine").write_text("mine\n")
    checkpoints, worktree = world.checkpoints(top=top), GitWorktree(world.repository(top), timeout_s=30)
    saved = run(checkpoints.save("story 1"))
    run(worktree.mark())
    spoil(world, top)
    (top / "agent").write_text("agent\n")
    left = _all_of(top)
    for work in (
        lambda: checkpoints.revert(saved),
        checkpoints.current,
        checkpoints.drop,
        checkpoints.cleanup,
        checkpoints.discarded,
        lambda: checkpoints.save("story 2"),
        lambda: checkpoints.restore("any"),
    ):
        with pytest.raises(CheckpointError, match="removed or replaced; nothing was changed"):
            asyncio.run(work())
    with pytest.raises(CommandFailed, match="removed or replaced"):
        run(worktree.changes(()))
    assert _all_of(top) == left
    assert not linked or world.picture() == main


def test_a_working_tree_that_removed_itself_is_refused_and_not_made_anew(world: World) -> None:
    top = world.base / "linked"
    world.git("worktree", "add", "-q", str(top), "-b", "linked")
    checkpoints = world.checkpoints(top=top)
    saved, main = run(checkpoints.save("story 1")), world.picture()
    world.git("worktree", "remove", "--force", str(top))
    with pytest.raises(CheckpointError, match="is gone; nothing was changed"):
        run(checkpoints.revert(saved))
    assert not top.exists()
    assert world.picture() == main


def test_a_git_directory_removed_inside_another_repository(tmp_path: Path) -> None:
    """Plain git would find the outer repository."""
    outer = World(tmp_path)
    outer.write("outer", "1\n")
    outer.commit("outer")
    inner = World(tmp_path / "project/inner")
    inner.write("inner", "1\n")
    inner.commit("inner")
    checkpoints, before = inner.checkpoints(), outer.picture()
    saved = run(checkpoints.save("story 1"))
    before = outer.picture()
    shutil.rmtree(inner.top / ".git")
    with pytest.raises(CheckpointError, match="removed or replaced"):
        run(checkpoints.revert(saved))
    assert outer.picture().head == before.head
    assert outer.picture().refs == before.refs


def test_a_moved_clone_finds_its_checkpoint(world: World) -> None:
    nested = world.top / "nested"
    nested.mkdir()
    _init(world, nested)
    saved, before = run(world.checkpoints().save("story 1")), entries(world.top)
    world.write("committed", "agent\n")
    (nested / "other").write_text("agent\n")
    world.top = world.top.rename(world.base / "moved")
    found = run(world.checkpoints().current())
    assert found == saved
    run(world.checkpoints().revert(found))
    assert entries(world.top) == before


def test_a_path_that_is_not_utf8(world: World) -> None:
    world.top = world.top.rename(world.base / os.fsdecode(b"b\xffd"))
    nested = world.top / os.fsdecode(b"n\xff")
    nested.mkdir()
    _init(world, nested)
    saved, before = run(world.checkpoints().save("story 1")), entries(world.top)
    (nested / "other").write_text("agent\n")
    run(world.checkpoints().revert(saved))
    assert entries(world.top) == before


def test_a_clone_moved_to_another_file_system_finds_its_checkpoint(world: World, tmp_path: Path) -> None:
    saved, before = run(world.checkpoints().save("story 1")), entries(world.top)
    copy = world.base / "copied"
    subprocess.run(["cp", "-a", world.top, copy], check=True)
    shutil.rmtree(world.top)
    world.top = copy
    world.write("committed", "agent\n")
    assert run(world.checkpoints().current()) == saved
    run(world.checkpoints().revert(saved))
    assert entries(world.top) == before


def test_a_copied_clone_does_not_share_the_checkpoint(world: World) -> None:
    saved = run(world.checkpoints().save("story 1"))
    copy = world.base / "copied"
    subprocess.run(["cp", "-a", world.top, copy], check=True)
    there = world.checkpoints(top=copy)
    assert run(there.current()) is None
    own, before = run(there.save("story 1")), entries(copy)
    (copy / "committed").write_text("agent\n")
    run(world.checkpoints(top=copy).revert(own))
    assert entries(copy) == before
    assert run(world.checkpoints().current()) == saved


def test_a_copied_linked_working_tree_does_not_share_the_checkpoint(world: World) -> None:
    top, copy = world.base / "linked", world.base / "copied"
    world.git("worktree", "add", "-q", str(top), "-b", "linked")
    saved = run(world.checkpoints(top=top).save("story 1"))
    subprocess.run(["cp", "-a", top, copy], check=True)
    assert run(world.checkpoints(top=copy).current()) is None
    assert run(world.checkpoints(top=top).current()) == saved


def test_a_moved_linked_working_tree_finds_its_checkpoint(world: World) -> None:
    top, moved = world.base / "linked", world.base / "moved"
    world.git("worktree", "add", "-q", str(top), "-b", "linked")
    saved = run(world.checkpoints(top=top).save("story 1"))
    world.git("worktree", "move", str(top), str(moved))
    assert run(world.checkpoints(top=moved).current()) == saved


def test_a_new_working_tree_at_the_path_of_a_removed_one_has_no_checkpoint(world: World) -> None:
    top = world.base / "linked"
    world.git("worktree", "add", "-q", str(top), "-b", "linked")
    run(world.checkpoints(top=top).save("story 1"))
    world.git("worktree", "remove", "--force", str(top))
    world.git("worktree", "add", "-q", str(top), "-b", "again")
    assert run(world.checkpoints(top=top).current()) is None


@as_root
def test_a_bind_mount_of_a_clone_is_the_same_clone(world: World) -> None:
    saved = run(world.checkpoints().save("story 1"))
    again = world.base / "again"
    again.mkdir()
    if subprocess.run(["mount", "--bind", world.top, again], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        assert run(world.checkpoints(top=again).current()) == saved
        assert run(world.checkpoints().current()) == saved
    finally:
        subprocess.run(["umount", again], check=True)


def _all_of(top: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in top.rglob("*") if path.is_file() and ".git/index" not in str(path)}
