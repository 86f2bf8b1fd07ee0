"""Repositories in the working tree: submodules, clones, repositories without commits, and other working trees."""

import shutil
from pathlib import Path

import pytest

from spool.host.git.working_tree import GitWorktree
from tests.integration.checkpoints.world import World, entries, remove, run


@pytest.fixture
def library(world: World) -> Path:
    source = world.base / "library"
    source.mkdir()
    world.git("init", "-q", "-b", "main", cwd=source)
    (source / "in").write_text("library\n")
    world.commit("library", cwd=source)
    return source


def _submodule(world: World, library: Path) -> Path:
    world.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub")
    world.git("commit", "-qm", "submodule")
    return world.top / "sub"


def test_dirty_content_and_commits_of_a_submodule_come_back(world: World, library: Path) -> None:
    sub = _submodule(world, library)
    (sub / "in").write_text("dirty\n")
    (sub / "untracked").write_text("u\n")
    checkpoints, before, inner = world.checkpoints(), world.picture(), world.picture(sub)
    saved = run(checkpoints.save("story 1"))
    assert saved.warnings == ()
    (sub / "in").write_text("agent\n")
    world.commit("agent in the submodule", cwd=sub)
    world.commit("agent")
    attempt = world.picture(sub)
    discarded = run(checkpoints.revert(saved))
    assert (world.picture(), world.picture(sub)) == (before, inner)
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert world.picture(sub) == attempt


def test_a_removed_submodule_comes_back(world: World, library: Path) -> None:
    sub = _submodule(world, library)
    (sub / "untracked").write_text("u\n")
    checkpoints, before, inner = world.checkpoints(), world.picture(), world.picture(sub)
    saved = run(checkpoints.save("story 1"))
    shutil.rmtree(sub)
    run(checkpoints.revert(saved))
    assert (world.picture(), world.picture(sub)) == (before, inner)


@pytest.mark.parametrize("again", [False, True])
def test_a_submodule_removed_with_its_git_directory_comes_back(world: World, library: Path, again: bool) -> None:
    sub = _submodule(world, library)
    (sub / "untracked").write_text("u\n")
    (sub / "in").write_text("only in the submodule\n")
    world.commit("not pushed", cwd=sub)
    checkpoints, before, inner = world.checkpoints(), world.picture(), world.picture(sub)
    saved = run(checkpoints.save("story 1"))
    world.git("submodule", "deinit", "-q", "-f", "sub")
    shutil.rmtree(world.top / ".git/modules/sub")
    if again:
        shutil.rmtree(sub, ignore_errors=True)
        world.git("rm", "-q", "-f", "--cached", "sub")
        remove(world.top / ".gitmodules")
    discarded = run(world.checkpoints().revert(saved))
    assert (world.picture(), world.picture(sub)) == (before, inner)
    assert discarded is not None
    assert discarded.warnings == ()
    world.git("fsck", "--strict", cwd=sub)


def test_a_clone_inside_the_tree(world: World, library: Path) -> None:
    clone = world.top / "vendor/lib"
    clone.parent.mkdir()
    world.git("clone", "-q", str(library), str(clone))
    (clone / "in").write_text("dirty\n")
    checkpoints, before, inner = world.checkpoints(), world.picture(), world.picture(clone)
    saved = run(checkpoints.save("story 1"))
    (clone / "in").write_text("agent\n")
    world.commit("agent", cwd=clone)
    run(checkpoints.revert(saved))
    assert (world.picture(), world.picture(clone)) == (before, inner)


def test_a_removed_clone_comes_back_with_its_history(world: World, library: Path) -> None:
    clone = world.top / "lib"
    world.git("clone", "-q", str(library), str(clone))
    (clone / "work").write_text("mine\n")
    world.commit("mine", cwd=clone)
    (clone / "work").write_text("more\n")
    checkpoints, before, inner = world.checkpoints(), world.picture(), world.picture(clone)
    saved = run(checkpoints.save("story 1"))
    shutil.rmtree(clone)
    discarded = run(checkpoints.revert(saved))
    assert (world.picture(), world.picture(clone)) == (before, inner)
    assert discarded is not None
    assert discarded.warnings == ()


@pytest.mark.parametrize("submodule", [False, True])
@pytest.mark.parametrize("later", [False, True])
def test_a_nested_repository_replaced_by_another_comes_back(
    world: World, library: Path, submodule: bool, later: bool
) -> None:
    if submodule:
        nested = _submodule(world, library)
    else:
        nested = world.top / "sub"
        world.git("clone", "-q", str(library), str(nested))
    checkpoints, before, inner = world.checkpoints(), world.picture(), world.picture(nested)
    saved = run(checkpoints.save("story 1"))
    remove(nested / ".git")
    world.git("init", "-q", "-b", "agent", cwd=nested)
    world.commit("another repository", cwd=nested)
    discarded = run((world.checkpoints() if later else checkpoints).revert(saved))
    assert (world.picture(), world.picture(nested)) == (before, inner)
    assert discarded is not None


def test_a_nested_repository_replaced_in_the_same_folder_comes_back(world: World, library: Path) -> None:
    """Its inode proves nothing: ext4 also gives that of a removed `.git` to the next folder."""
    nested = world.top / "sub"
    world.git("clone", "-q", str(library), str(nested))
    checkpoints, inner = world.checkpoints(), world.picture(nested)
    saved = run(checkpoints.save("story 1"))
    for _ in range(2):
        for path in (nested / ".git").iterdir():
            remove(path)
        world.git("init", "-q", "-b", "agent", cwd=nested)
        world.commit("another repository", cwd=nested)
        attempt = world.picture(nested)
        discarded = run(checkpoints.revert(saved))
        assert world.picture(nested) == inner
        assert discarded is not None
        run(checkpoints.restore(discarded.name))
        assert world.picture(nested) == attempt
        run(checkpoints.revert(saved))
        assert world.picture(nested) == inner


def test_a_removed_git_directory_that_came_back_is_the_same_repository(world: World, library: Path) -> None:
    nested = world.top / "sub"
    world.git("clone", "-q", str(library), str(nested))
    checkpoints, inner = world.checkpoints(), world.picture(nested)
    saved = run(checkpoints.save("story 1"))
    remove(nested / ".git")
    run(checkpoints.revert(saved))
    (nested / "in").write_text("agent\n")
    world.commit("agent", cwd=nested)
    inode = (nested / ".git").stat().st_ino
    run(checkpoints.revert(saved))
    assert world.picture(nested) == inner
    assert (nested / ".git").stat().st_ino == inode


def test_copies_of_git_directories_go_with_the_checkpoint(world: World, library: Path) -> None:
    world.git("clone", "-q", str(library), str(world.top / "lib"))
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    assert [*(world.top / ".git/spool/shadow").glob("*/copy/HEAD")]
    run(checkpoints.drop())
    assert not [*(world.top / ".git/spool/shadow").glob("*/copy")]


def test_a_repository_without_commits(world: World) -> None:
    fresh = world.top / "fresh"
    fresh.mkdir()
    world.git("init", "-q", cwd=fresh)
    (fresh / "file").write_text("1\n")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    (fresh / "file").write_text("2\n")
    world.write("committed", "agent\n")
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


def test_a_new_clone_is_moved_aside_whole(world: World, library: Path) -> None:
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    clone = world.top / "new/clone"
    clone.parent.mkdir()
    world.git("clone", "-q", str(library), str(clone))
    (clone / "work").write_text("agent\n")
    attempt = world.picture(clone)
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert not clone.exists()
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert world.picture(clone) == attempt


def test_a_folder_that_becomes_a_repository_is_a_folder_again(world: World) -> None:
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.git("init", "-q", "-b", "main", cwd=world.top / "src")
    world.write("src/more", "agent\n")
    world.commit("agent", cwd=world.top / "src")
    attempt = world.picture(world.top / "src")
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert not (world.top / "src/.git").exists()
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert world.picture(world.top / "src") == attempt


def test_a_folder_that_became_a_repository_between_two_checkpoints(world: World) -> None:
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    world.git("init", "-q", "-b", "main", cwd=world.top / "src")
    world.commit("mine", cwd=world.top / "src")
    before, inner = world.picture(), world.picture(world.top / "src")
    saved = run(checkpoints.save("story 2"))
    world.write("src/code.py", "agent\n")
    world.commit("agent", cwd=world.top / "src")
    run(checkpoints.revert(saved))
    assert (world.picture(), world.picture(world.top / "src")) == (before, inner)


def test_other_working_trees_are_not_touched(world: World) -> None:
    world.git("worktree", "add", "-q", str(world.top / "trees/one"), "-b", "one")
    one = world.checkpoints()
    saved = run(one.save("story 1"))
    world.git("worktree", "add", "-q", str(world.top / "trees/two"), "-b", "two")
    for name in ("one", "two"):
        (world.top / "trees" / name / "work").write_text("another loop is at work here\n")
        world.commit("another loop's", cwd=world.top / "trees" / name)
    refs = world.refs()
    world.write("committed", "agent\n")
    run(one.revert(saved))
    assert world.refs() == refs
    for name in ("one", "two"):
        assert (world.top / "trees" / name / "work").exists()
    assert (world.top / "committed").read_text() == "2\n"


def test_working_trees_are_independent(world: World, tmp_path: Path) -> None:
    second = tmp_path / "second"
    world.git("worktree", "add", "-q", str(second), "-b", "second")
    (second / "own").write_text("1\n")
    here, there = world.checkpoints(), world.checkpoints(top=second)
    before = world.picture(second)
    saved_here, saved_there = run(here.save("story 1")), run(there.save("story 1"))
    world.write("committed", "agent\n")
    (second / "own").write_text("agent\n")
    world.commit("agent there", cwd=second)
    run(here.revert(saved_here))
    assert (second / "own").read_text() == "agent\n"
    run(there.revert(saved_there))
    assert world.picture(second) == before
    run(here.drop())
    assert run(there.current()) is not None


def test_branches_of_other_working_trees_users_are_left_with_a_warning(world: World, tmp_path: Path) -> None:
    second = tmp_path / "second"
    world.git("worktree", "add", "-q", str(second), "-b", "second")
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.git("branch", "made-elsewhere", cwd=second)
    world.git("checkout", "-q", "-b", "made-here")
    world.commit("agent")
    discarded = run(checkpoints.revert(saved))
    assert "made-elsewhere" in world.refs()
    assert "made-here" not in world.refs()
    assert discarded is not None
    assert "made-elsewhere was changed, perhaps from another working tree" in discarded.warnings[0]


def test_two_changes_in_one_working_tree(world: World) -> None:
    one, two = world.checkpoints("one"), world.checkpoints("two/../x")
    saved = run(one.save("story 1"))
    world.write("committed", "between\n")
    later = run(two.save("story 1"))
    world.write("committed", "agent\n")
    run(two.revert(later))
    assert (world.top / "committed").read_text() == "between\n"
    run(one.revert(saved))
    assert (world.top / "committed").read_text() == "2\n"
    run(two.drop())
    assert run(one.current()) == saved
    remove(world.top / "committed")
    run(one.revert(saved))
    assert (world.top / "committed").read_text() == "2\n"


def test_a_commit_in_a_submodule_counts_as_a_change(world: World, library: Path) -> None:
    sub = _submodule(world, library)
    worktree = GitWorktree(world.repository(), timeout_s=30)
    run(worktree.mark())
    (sub / "in").write_text("agent\n")
    world.commit("agent", cwd=sub)
    found = run(worktree.changes(()))
    assert found is not None
    assert (found.count, found.files) == (1, ("sub",))


_BROKEN = ["a NUL", "dangling", "empty", "a file", "a link", "nothing", "another worktree", "no HEAD"]


@pytest.mark.parametrize(("submodule", "later"), [(False, True), (True, False)])
@pytest.mark.parametrize("how", _BROKEN)
def test_a_nested_repository_whose_git_directory_is_broken_comes_back_and_goes_again(
    world: World, library: Path, submodule: bool, later: bool, how: str
) -> None:
    """What the agent wrote beside it is part of the attempt."""
    if submodule:
        nested = _submodule(world, library)
    else:
        nested = world.top / "sub"
        world.git("clone", "-q", str(library), str(nested))
    checkpoints, before, inner = world.checkpoints(), world.picture(), world.picture(nested)
    saved = run(checkpoints.save("story 1"))
    _break(world, nested, how)
    (nested / "in").write_text("the agent's\n")
    (nested / "new").write_text("the agent's\n")
    attempt = entries(nested)
    discarded = run((world.checkpoints() if later else checkpoints).revert(saved))
    assert (world.picture(), world.picture(nested)) == (before, inner)
    assert discarded is not None
    run((world.checkpoints() if later else checkpoints).restore(discarded.name))
    assert entries(nested) == attempt
    run((world.checkpoints() if later else checkpoints).revert(saved))
    assert (world.picture(), world.picture(nested)) == (before, inner)


def _break(world: World, nested: Path, how: str) -> None:
    link = nested / ".git"
    git_dir = Path(world.git("rev-parse", "--absolute-git-dir", cwd=nested).strip())
    if how == "no HEAD":
        (git_dir / "HEAD").unlink()
    elif how == "another worktree":
        remove(nested)
        world.git("worktree", "add", "-q", "-f", "--detach", str(nested))
    else:
        remove(git_dir)
        remove(link)
        if how in ("a NUL", "dangling", "a file"):
            link.write_bytes({"a NUL": b"gitdir: a\0b\n", "dangling": b"gitdir: ../nowhere\n"}.get(how, b"no\n"))
        elif how == "empty":
            link.mkdir()
        elif how == "a link":
            link.symlink_to("../../library/.git")
