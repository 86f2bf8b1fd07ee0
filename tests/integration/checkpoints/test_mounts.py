"""What is mounted into the working tree belongs to somebody else: nothing behind a mount point is touched."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spool.host.git.checkpoints.record.mounts import mounts_below
from tests.integration.checkpoints.world import World, as_root, entries, remove, run

pytestmark = as_root
Mount = Callable[[Path, Path], None]


@pytest.fixture
def mount() -> Iterator[Mount]:
    """Mount one folder or file on another, as an agent would; all are unmounted in the end."""
    made: list[Path] = []

    def bind(source: Path, point: Path) -> None:
        if subprocess.run(["mount", "--bind", source, point], capture_output=True).returncode:
            pytest.skip("mounting is not allowed here")
        made.append(point)

    yield bind
    for point in reversed(made):
        subprocess.run(["umount", "-l", point], check=True)


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    folder = tmp_path / "precious"
    (folder / "deep").mkdir(parents=True)
    for name in ("one", "deep/two", ".gitignore", "code.py"):
        (folder / name).write_text("precious\n")
    return folder


@pytest.mark.parametrize("where", ["mnt", "src/mnt", "new/deep/m [n]*t", "src", "node_modules/mnt"])
def test_a_folder_that_an_agent_mounted_is_not_emptied(world: World, mount: Mount, precious: Path, where: str) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    behind = entries(precious)
    world.write("committed", "agent\n")
    (world.top / where).mkdir(parents=True, exist_ok=True)
    mount(precious, world.top / where)
    discarded = run(checkpoints.revert(saved))
    assert entries(precious) == behind
    assert entries(world.top / where) == behind
    assert (world.top / "committed").read_text() == "2\n"
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert entries(precious) == behind
    assert (world.top / "committed").read_text() == "agent\n"


def test_a_repository_behind_a_mount_is_not_reverted(world: World, mount: Mount, precious: Path) -> None:
    world.git("init", "-q", "-b", "main", cwd=precious)
    world.commit("first", cwd=precious)
    (precious / "one").write_text("dirty\n")
    (world.top / "mnt").mkdir()
    mount(precious, world.top / "mnt")
    checkpoints, before = world.checkpoints(), world.picture(precious)
    saved = run(checkpoints.save("story 1"))
    assert saved.warnings == ("mnt is a mount point: it is neither saved nor touched",)
    (precious / "one").write_text("somebody else\n")
    after = world.picture(precious)
    assert after != before
    world.write("committed", "agent\n")
    run(checkpoints.revert(saved))
    assert world.picture(precious) == after


def test_a_nested_repository_that_is_now_behind_a_mount_is_left(world: World, mount: Mount, precious: Path) -> None:
    nested = world.top / "nested"
    nested.mkdir()
    world.git("init", "-q", "-b", "main", cwd=nested)
    (nested / "one").write_text("nested\n")
    world.commit("first", cwd=nested)
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    mount(precious, nested)
    behind = entries(precious)
    world.write("committed", "agent\n")
    discarded = run(checkpoints.revert(saved))
    assert entries(precious) == behind
    assert not (precious / ".git").exists()
    assert (world.top / "committed").read_text() == "2\n"
    assert discarded is not None
    assert "mount" in " ".join(discarded.warnings)


def test_a_mount_inside_a_new_clone_stays_where_it_is(world: World, mount: Mount, precious: Path) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.git("init", "-q", str(world.top / "clone"))
    (world.top / "clone/mnt").mkdir()
    mount(precious, world.top / "clone/mnt")
    behind = entries(precious)
    world.write("committed", "agent\n")
    discarded = run(checkpoints.revert(saved))
    assert entries(precious) == behind
    assert (world.top / "committed").read_text() == "2\n"
    assert discarded is not None
    assert set(discarded.warnings) == {
        "clone/mnt is a mount point: nothing behind it was touched",
        "clone cannot be brought back: something is mounted there",
    }


@pytest.mark.parametrize("name", ["committed", ".env", "new"])
def test_a_mounted_file_is_not_written_through(world: World, mount: Mount, precious: Path, name: str) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    (world.top / name).touch()
    mount(precious / "one", world.top / name)
    world.write("src/code.py", "agent\n")
    run(checkpoints.revert(saved))
    assert (precious / "one").read_text() == "precious\n"
    assert (world.top / "src/code.py").read_text() == "print(1)\n"


def test_a_mount_that_was_there_before_is_left_with_a_warning(world: World, mount: Mount, precious: Path) -> None:
    (world.top / "mnt").mkdir()
    mount(precious, world.top / "mnt")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    assert saved.warnings == ("mnt is a mount point: it is neither saved nor touched",)
    world.write("committed", "agent\n")
    remove(precious / "one")
    run(checkpoints.revert(saved))
    assert (world.top / "committed").read_text() == "2\n"
    assert not (precious / "one").exists()
    assert entries(world.top).keys() == before.keys() - {"mnt/one"}


def test_names_of_mount_points_are_read_as_they_are(world: World, mount: Mount, precious: Path) -> None:
    for name in ("a b", "tab\tx", "new\nline", "back\\slash", "é"):
        (world.top / name).mkdir()
        mount(precious, world.top / name)
    found = mounts_below(bytes(world.top))
    assert found == sorted(name.encode() for name in ("a b", "tab\tx", "new\nline", "back\\slash", "é"))


def test_a_mount_in_the_place_of_a_nested_git_directory(world: World, mount: Mount, precious: Path) -> None:
    """The repository cannot be brought back; everything around it is."""
    world.git("init", "-q", "-b", "main", str(world.top / "nested"))
    world.write("nested/in", "1\n")
    checkpoints, behind = world.checkpoints(), entries(precious)
    saved = run(checkpoints.save("story 1"))
    remove(world.top / "nested/.git")
    (world.top / "nested/.git").mkdir()
    mount(precious, world.top / "nested/.git")
    world.write("committed", "agent\n")
    discarded = run(checkpoints.revert(saved))
    assert entries(precious) == behind
    assert (world.top / "committed").read_text() == "2\n"
    assert discarded is not None
    assert [one for one in discarded.warnings if one.startswith("nested cannot be brought back")]
