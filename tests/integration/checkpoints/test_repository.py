"""HEAD, refs, index and half-done merges come back, and the user's own git is not disturbed."""

import os
import time
from pathlib import Path

import pytest

from spool.errors import CommandFailed
from tests.integration.checkpoints.world import World, remove, run


def test_commits_of_the_agent_are_taken_back_and_kept(world: World) -> None:
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    commit = world.commit("agent")
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert discarded is not None
    assert discarded.head == commit
    _gc(world)
    assert world.git("cat-file", "-t", commit).strip() == "commit"
    run(checkpoints.restore(discarded.name))
    assert world.git("rev-parse", "HEAD").strip() == commit


def test_branches_that_were_switched_made_and_deleted(world: World) -> None:
    world.git("branch", "old")
    world.git("tag", "-a", "-m", "annotated", "v1")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.git("checkout", "-q", "-b", "agent")
    world.commit("agent")
    world.git("branch", "-D", "main", "old")
    world.git("branch", "old/deeper")
    world.git("tag", "-d", "v1")
    _gc(world)
    run(checkpoints.revert(saved))
    assert world.picture() == before


def test_a_reset_to_an_older_commit_and_gc(world: World) -> None:
    world.commit("second")
    world.write("committed", "3\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.git("reset", "-q", "--hard", "HEAD~1")
    _gc(world)
    run(checkpoints.revert(saved))
    assert world.picture() == before


def test_staged_content_survives_a_reset_and_gc(world: World) -> None:
    world.write("staged", "only in the index\n")
    world.git("add", "staged")
    world.write("staged", "in the tree\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.git("reset", "-q", "--hard")
    _gc(world)
    run(checkpoints.revert(saved))
    assert world.picture() == before
    assert world.git("show", ":staged") == "only in the index\n"


def test_no_commits_yet(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("a", "1\n")
    world.git("add", "a")
    world.write("b", "1\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    assert saved.head is None
    world.write("a", "2\n")
    world.commit("the first")
    _gc(world)
    run(checkpoints.revert(saved))
    assert world.picture() == before


def test_a_detached_head(world: World) -> None:
    world.git("checkout", "-q", "--detach")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.commit("agent")
    world.git("checkout", "-q", "main")
    run(checkpoints.revert(saved))
    assert world.picture() == before


@pytest.mark.parametrize("how", ["merge", "rebase", "cherry-pick", "revert"])
@pytest.mark.parametrize("then", ["abort", "finish", "nothing"])
def test_the_middle_of_something(tmp_path: Path, how: str, then: str) -> None:
    world = _conflicted(tmp_path, how)
    checkpoints, before = world.checkpoints(), world.picture()
    assert before.state
    saved = run(checkpoints.save("story 1"))
    assert world.picture() == before
    if then == "abort":
        world.git(how, "--abort")
    elif then == "finish":
        world.write("a", "agent\n")
        world.git("add", "-A")
        world.git("commit", "-q", "--no-edit", "--allow-empty", check=False)
        world.git(how, "--continue", check=False)
    world.write("more", "agent\n")
    _gc(world)
    run(checkpoints.revert(saved))
    assert world.picture() == before


def test_the_agent_begins_a_merge(tmp_path: Path) -> None:
    world = _conflicted(tmp_path, "merge")
    world.git("merge", "--abort")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.git("merge", "theirs", check=False)
    attempt = world.picture()
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert world.picture() == attempt


def test_the_users_stashes_stay_as_they_are(world: World) -> None:
    world.git("stash", "-q", "-u")
    world.write("more", "x\n")
    stashes = world.git("stash", "list")
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    assert world.git("stash", "list") == stashes
    world.write("more", "agent\n")
    run(checkpoints.revert(saved))
    run(checkpoints.cleanup())
    assert world.git("stash", "list") == stashes


def test_remote_branches_are_facts_and_stay(world: World) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    commit = world.commit("agent pushes this")
    world.git("update-ref", "refs/remotes/origin/main", commit)
    run(checkpoints.revert(saved))
    assert world.git("rev-parse", "refs/remotes/origin/main").strip() == commit


def test_a_restored_index_hides_no_edit(world: World) -> None:
    """Files, index and edit in one second, all of one size: only an old date of the index tells git to look."""
    for _ in range(5):
        checkpoints = world.checkpoints()
        saved = run(checkpoints.save("story 1"))
        world.write("staged", "x\n")
        world.git("add", "-A")
        run(checkpoints.revert(saved))
        world.write("staged", "t\n")
        assert "AM staged" in world.git("status", "--porcelain")
        world.write("staged", "s\n")


def test_a_split_index(world: World) -> None:
    world.git("update-index", "--split-index")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.git("update-index", "--no-split-index")
    world.git("add", "-A")
    for shared in (world.top / ".git").glob("sharedindex.*"):
        shared.unlink()
    run(checkpoints.revert(saved))
    assert world.picture() == before


def test_an_index_lock_that_stays_is_waited_for_and_never_removed(world: World) -> None:
    saved = run(world.checkpoints().save("story 1"))
    checkpoints = world.checkpoints(timeout_s=5)
    lock = world.top / ".git/index.lock"
    lock.touch()
    world.write("committed", "agent\n")
    began = time.monotonic()
    with pytest.raises(CommandFailed, match="index is locked"):
        run(checkpoints.revert(saved))
    assert 4.5 < time.monotonic() - began < 15
    assert lock.exists()
    assert (world.top / "committed").read_text() == "agent\n"
    lock.unlink()
    run(checkpoints.revert(saved))
    assert (world.top / "committed").read_text() == "2\n"


def test_our_own_lock_left_by_a_crash_is_known(world: World) -> None:
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.git("add", "-A")
    git_dir = world.top / ".git"
    (git_dir / "index.spool").write_bytes(b"half")
    os.link(git_dir / "index.spool", git_dir / "index.lock")
    run(checkpoints.revert(saved))
    assert world.picture() == before
    assert not (git_dir / "index.lock").exists()


def test_objects_that_only_other_branches_hold_survive_gc(world: World) -> None:
    """The shadow borrows a blob of another branch; the branch goes, gc comes, and the blob must still be there."""
    world.git("stash", "-q", "-u")
    world.git("checkout", "-q", "-b", "other")
    world.write("borrowed", "content of other\n" * 50)
    world.commit("other")
    world.git("checkout", "-q", "main")
    world.write("borrowed", "content of other\n" * 50)
    checkpoints, before = world.checkpoints(), (world.top / "borrowed").read_bytes()
    saved = run(checkpoints.save("story 1"))
    # Even a pin that somebody removed by hand does no harm: the content is in the shadow.
    for row in world.git("for-each-ref", "--format=%(refname)", "refs/spool").split():
        world.git("update-ref", "-d", row)
    world.git("branch", "-D", "other")
    world.git("stash", "drop", "-q")
    _gc(world)
    remove(world.top / "borrowed")
    discarded = run(checkpoints.revert(saved))
    assert (world.top / "borrowed").read_bytes() == before
    assert discarded is not None
    assert "refs/heads/other cannot be brought back: its commit is gone" in discarded.warnings


def test_a_checkpoint_is_reachable_before_the_agent_starts(world: World) -> None:
    saved = run(world.checkpoints().save("story 1"))
    shadow = next((world.top / ".git/spool/shadow").iterdir())
    assert saved.tree in world.git("--git-dir", str(shadow), "for-each-ref")
    pins = world.git("for-each-ref", "--format=%(objectname)", "refs/spool/pin").split()
    assert saved.head in pins
    assert "missing" not in world.git("--git-dir", str(shadow), "fsck", "--connectivity-only")


def test_pins_go_with_the_checkpoint(world: World) -> None:
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    run(checkpoints.save("story 2"))
    run(checkpoints.drop())
    assert world.git("for-each-ref", "refs/spool") == ""
    assert run(checkpoints.current()) is None


def test_the_shadow_outlives_a_head_that_moved_and_gc(world: World) -> None:
    """What one checkpoint borrowed under one HEAD is copied when the next one has another HEAD."""
    world.commit("work to keep in the tree only")
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    world.git("reset", "-q", "--mixed", "HEAD~1")
    before = world.picture()
    saved = run(checkpoints.save("story 2"))
    _gc(world)
    for name in ("committed", "staged", "untracked"):
        remove(world.top / name)
    run(checkpoints.revert(saved))
    assert world.picture() == before


def _gc(world: World) -> None:
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")


def _conflicted(base: Path, how: str) -> World:
    world = World(base)
    world.write("a", "base\n")
    world.commit("base")
    for branch in ("theirs", "ours"):
        world.git("checkout", "-q", "-b", branch, "main")
        world.write("a", f"{branch}\n")
        world.write(branch, "1\n")
        world.commit(branch)
    if how == "revert":
        world.write("a", "later\n")
        world.commit("later")
        world.git("revert", "--no-edit", "HEAD~1", check=False)
    else:
        world.git(how, "theirs", check=False)
    world.write("b", "staged in the middle\n")
    world.git("add", "b")
    world.write("c", "untracked in the middle\n")
    return world


def test_symbolic_refs_that_name_nothing_come_and_go(world: World) -> None:
    """Git does not list them."""
    world.git("symbolic-ref", "refs/heads/mine", "refs/heads/nowhere")
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.git("symbolic-ref", "--delete", "refs/heads/mine")
    world.git("symbolic-ref", "refs/heads/agent", "refs/heads/gone")
    discarded = run(checkpoints.revert(saved))
    heads = world.top / ".git/refs/heads"
    assert (heads / "mine").read_text() == "ref: refs/heads/nowhere\n"
    assert not (heads / "agent").exists()
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert (heads / "agent").read_text() == "ref: refs/heads/gone\n"
    assert not (heads / "mine").exists()
