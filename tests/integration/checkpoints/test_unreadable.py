"""Folders that cannot be read: another user's are left alone, and those that an agent closed are reverted."""

from pathlib import Path

import pytest

from spool.host.git.working_tree import GitWorktree
from tests.integration.checkpoints.world import World, as_nobody, as_root, entries, run

pytestmark = as_root


def _foreign(path: Path) -> Path:
    """Make a folder as a database does: mode 700, another owner."""
    path.mkdir(parents=True)
    (path / "base").write_text("rows\n")
    path.chmod(0o700)
    return path


@pytest.mark.parametrize("where", ["data", "src/data", "new/deep/data"])
def test_another_users_folder_is_left_alone_with_one_warning(world: World, where: str) -> None:
    data = _foreign(world.top / where)

    def work() -> None:
        checkpoints = world.checkpoints()
        saved = run(checkpoints.save("story 1"))
        assert saved.warnings == (f"{where} is not readable: it is neither saved nor touched",)
        world.write("committed", "agent\n")
        world.write("agent", "agent\n")
        discarded = run(checkpoints.revert(saved))
        assert (world.top / "committed").read_text() == "2\n"
        assert not (world.top / "agent").exists()
        assert discarded is not None
        run(checkpoints.restore(discarded.name))
        assert (world.top / "committed").read_text() == "agent\n"

    as_nobody(world, work, but=[data])
    assert (data / "base").read_text() == "rows\n"


def test_changes_are_counted_beside_an_unreadable_folder(world: World) -> None:
    data = _foreign(world.top / "data")

    def work() -> None:
        worktree = GitWorktree(world.repository(), timeout_s=30)
        run(worktree.mark())
        world.write("committed", "agent\n")
        found = run(worktree.changes(()))
        assert found is not None and found.files == ("committed",)

    as_nobody(world, work, but=[data])


def test_another_users_folder_that_an_agent_made_does_not_prevent_a_revert(world: World) -> None:
    as_nobody(world, lambda: run(world.checkpoints().save("story 1")))
    data = _foreign(world.top / "data")

    def work() -> None:
        checkpoints = world.checkpoints()
        saved = run(checkpoints.current())
        assert saved is not None
        world.write("committed", "agent\n")
        discarded = run(checkpoints.revert(saved))
        assert (world.top / "committed").read_text() == "2\n"
        assert discarded is not None
        assert len(discarded.warnings) == 1
        assert discarded.warnings[0].startswith("data cannot be brought back")

    as_nobody(world, work, but=[data])
    assert (data / "base").read_text() == "rows\n"


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o400, 0o500])
@pytest.mark.parametrize("where", ["src", ".", "src/new"])
def test_folders_that_an_agent_closed_are_reverted_with_what_is_in_them(world: World, where: str, mode: int) -> None:
    if where == "." and mode != 0o500:
        pytest.skip("git cannot work in a top folder that it cannot read")

    def work() -> None:
        (world.top / ".").chmod(0o755)
        checkpoints, before = world.checkpoints(), entries(world.top)
        saved = run(checkpoints.save("story 1"))
        world.write("src/code.py", "agent\n")
        world.write("src/new/more", "agent\n")
        attempt = entries(world.top)
        (world.top / where).chmod(mode)
        discarded = run(checkpoints.revert(saved))
        assert entries(world.top) == before
        assert world.top.stat().st_mode & 0o777 == 0o755
        assert discarded is not None
        assert discarded.warnings == ()
        run(checkpoints.restore(discarded.name))
        assert (world.top / where).stat().st_mode & 0o777 == mode
        (world.top / where).chmod(0o755)
        assert entries(world.top) == attempt

    as_nobody(world, work)


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o500])
def test_a_nested_git_directory_that_an_agent_closed(world: World, mode: int) -> None:
    nested = world.top / "nested"
    world.git("init", "-q", "-b", "main", str(nested))
    world.write("nested/in", "1\n")
    world.commit("nested", cwd=nested)

    def work() -> None:
        checkpoints, before, inner = world.checkpoints(), world.picture(), world.picture(nested)
        saved = run(checkpoints.save("story 1"))
        world.write("nested/in", "agent\n")
        (nested / ".git").chmod(mode)
        attempt = entries(world.top)
        discarded = run(checkpoints.revert(saved))
        assert (world.picture(), world.picture(nested)) == (before, inner)
        assert discarded is not None
        run(checkpoints.restore(discarded.name))
        assert entries(world.top) == attempt
        run(checkpoints.revert(saved))
        assert (world.picture(), world.picture(nested)) == (before, inner)

    as_nobody(world, work)
