"""What stands in the working tree comes back: bytes, modes, links and folders."""

import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

import pytest

from spool.host.git.checkpoints.record.recorder import LARGE_FILE_BYTES
from tests.integration.checkpoints.world import World, as_nobody, as_root, entries, remove, run


def test_staged_unstaged_and_untracked_work_comes_back(world: World) -> None:
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    assert world.picture() == before
    world.write("committed", "agent\n")
    world.write("new/file", "agent\n")
    world.write("staged", "agent\n")
    remove(world.top / "untracked")
    remove(world.top / "src")
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert discarded is not None
    assert discarded.files == 5


def test_a_revert_without_changes_keeps_nothing(world: World) -> None:
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    assert run(checkpoints.revert(saved)) is None
    assert run(checkpoints.discarded()) == []
    assert world.picture() == before


@pytest.mark.parametrize("mode", [0o444, 0o600, 0o640, 0o666, 0o755, 0o711, 0o400])
def test_modes_come_back(world: World, mode: int) -> None:
    world.write("file", "x\n", mode)
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    (world.top / "file").chmod(0o777)
    run(checkpoints.revert(saved))
    assert entries(world.top) == before
    remove(world.top / "file")
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


def test_a_chmod_in_the_second_of_the_checkpoint_is_seen(world: World) -> None:
    checkpoints = world.checkpoints()
    for mode in (0o600, 0o640, 0o604):
        path = world.write("quick", "x\n", 0o644)
        saved = run(checkpoints.save("story 1"))
        path.chmod(mode)
        run(checkpoints.revert(saved))
        assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_an_edit_of_equal_size_in_the_second_of_the_checkpoint_is_seen(world: World) -> None:
    checkpoints = world.checkpoints()
    for _ in range(3):
        path = world.write("quick", "old\n")
        saved = run(checkpoints.save("story 1"))
        path.write_text("new\n")
        run(checkpoints.revert(saved))
        assert path.read_text() == "old\n"


def test_empty_folders_and_modes_of_folders_come_back(world: World) -> None:
    (world.top / "empty/deep").mkdir(parents=True)
    (world.top / "closed").mkdir(mode=0o700)
    world.write("closed/in")
    (world.top / "closed").chmod(0o500)
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    shutil.rmtree(world.top / "empty")
    (world.top / "closed").chmod(0o755)
    (world.top / "agent/empty").mkdir(parents=True)
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


def test_links_come_back_and_are_never_followed(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine\n")
    (world.top / "dangling").symlink_to("nowhere")
    (world.top / "out").symlink_to(outside)
    world.write("folder/precious", "theirs\n")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    remove(world.top / "folder")
    (world.top / "folder").symlink_to(outside)
    (world.top / "more").symlink_to(outside)
    remove(world.top / "dangling")
    world.write("dangling", "a file now\n")
    discarded = run(checkpoints.revert(saved))
    assert entries(world.top) == before
    assert (outside / "precious").read_text() == "mine\n"
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert (world.top / "folder").is_symlink()
    assert (outside / "precious").read_text() == "mine\n"
    assert [path.name for path in outside.iterdir()] == ["precious"]


def test_files_become_folders_and_folders_files(world: World) -> None:
    world.write("was-folder/in")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    remove(world.top / "was-folder")
    world.write("was-folder", "a file\n")
    remove(world.top / "committed")
    world.write("committed/in", "a folder\n")
    run(checkpoints.revert(saved))
    assert world.picture() == before


def test_ignored_files_in_the_way_are_moved_aside_not_deleted(world: World) -> None:
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    remove(world.top / "committed")
    world.write("committed/node_modules/big", "kept\n")
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert (world.top / "committed/node_modules/big").read_text() == "kept\n"


@pytest.mark.parametrize(
    "name", ["é ñ", ":odd", ":(top)x", "-dash", "new\nline", 'quo"te', "back\\slash", "a*b", "[x]"]
)
def test_odd_names(world: World, name: str) -> None:
    world.write(f"odd/{name}", "1\n")
    world.write(name, "1\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.write(name, "2\n")
    remove(world.top / "odd" / name)
    world.write(f"more/{name}", "2\n")
    run(checkpoints.revert(saved))
    assert world.picture() == before


def test_a_name_that_is_not_utf8(world: World) -> None:
    path = os.fsencode(world.top) + b"/b\xffd"
    with open(path, "wb") as file:
        file.write(b"1\n")
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    os.unlink(path)
    discarded = run(checkpoints.revert(saved))
    with open(path, "rb") as file:
        assert file.read() == b"1\n"
    assert discarded is not None
    assert "b\\377d" in run(checkpoints.show(discarded.name)) or "b\ufffdd" in run(checkpoints.show(discarded.name))


@pytest.mark.parametrize(
    "attributes",
    ["* text=auto\n", "* text eol=crlf\n", "*.c ident\n", "* filter=lfs\n", "* working-tree-encoding=UTF-16LE-BOM\n"],
)
def test_attributes_that_convert_text_change_no_byte(world: World, attributes: str) -> None:
    contents = {"crlf.txt": b"a\r\nb\r\n", "mixed.txt": b"a\r\nb\n", "id.c": b"$Id: stale $\n", "lf.txt": b"a\n"}
    for name, content in contents.items():
        world.write(name, content)
    world.commit("text")
    world.write(".gitattributes", attributes)
    world.git("config", "core.autocrlf", "true")
    world.git("config", "filter.lfs.clean", "false")
    world.git("config", "filter.lfs.smudge", "false")
    world.git("config", "filter.lfs.required", "true")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    for name in contents:
        world.write(name, b"agent\r\n")
    run(checkpoints.revert(saved))
    assert entries(world.top) == before
    for name in contents:
        remove(world.top / name)
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


def test_an_assumed_unchanged_edit_is_saved(world: World) -> None:
    world.git("update-index", "--assume-unchanged", "src/code.py")
    world.write("src/code.py", "print('hidden')\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.write("src/code.py", "print('agent')\n")
    world.git("update-index", "--no-assume-unchanged", "src/code.py")
    run(checkpoints.revert(saved))
    assert world.picture() == before


def test_a_sparse_checkout_stays_sparse(world: World) -> None:
    world.write("far/away", "x\n")
    world.commit("far")
    world.git("sparse-checkout", "set", "src")
    assert not (world.top / "far").exists()
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.git("sparse-checkout", "add", "far")
    world.write("far/away", "agent\n")
    run(checkpoints.revert(saved))
    assert world.picture() == before
    assert not (world.top / "far").exists()


def test_a_fifo_neither_blocks_nor_vanishes(world: World) -> None:
    os.mkfifo(world.top / "pipe")
    (world.top / "pipes").mkdir()
    os.mkfifo(world.top / "pipes/inner")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    remove(world.top / "committed")
    os.mkfifo(world.top / "committed")
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


def test_the_mode_of_a_fifo_comes_back_and_goes_again(world: World) -> None:
    """A chmod leaves no trace in its folder."""
    (world.top / "pipes").mkdir()
    os.mkfifo(world.top / "pipes/inner", 0o600)
    checkpoints = world.checkpoints()
    saved, before = run(checkpoints.save("story 1")), entries(world.top)
    (world.top / "pipes/inner").chmod(0o644)
    attempt = entries(world.top)
    discarded = run(checkpoints.revert(saved))
    assert entries(world.top) == before
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert entries(world.top) == attempt


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs a second file system")
def test_fifos_come_back_from_another_file_system(world: World, tmp_path: Path) -> None:
    top = Path(tempfile.mkdtemp(dir="/dev/shm" if tmp_path.stat().st_dev != Path("/dev/shm").stat().st_dev else "/tmp"))
    try:
        world.git("worktree", "add", "-q", "-f", str(top / "linked"), "-b", "linked")
        world.top = top / "linked"
        os.mkfifo(world.top / "mine", 0o640)
        checkpoints, before = world.checkpoints(), entries(world.top)
        saved = run(checkpoints.save("story 1"))
        remove(world.top / "mine")
        world.write("mine", "a file now\n")
        os.mkfifo(world.top / "agent")
        attempt = entries(world.top)
        discarded = run(checkpoints.revert(saved))
        assert entries(world.top) == before
        assert discarded is not None
        run(checkpoints.restore(discarded.name))
        assert entries(world.top) == attempt
    finally:
        shutil.rmtree(top)


def test_a_large_file_is_left_alone_with_a_warning(world: World) -> None:
    world.write("large", b"x" * 2000)
    world.write("grows", b"small")
    checkpoints = world.checkpoints(large_file_bytes=1000)
    saved = run(checkpoints.save("story 1"))
    assert [warning for warning in saved.warnings if "large is larger than" in warning]
    world.write("large", b"y" * 3000)
    world.write("grows", b"z" * 3000)
    world.write("agent-large", b"w" * 3000)
    discarded = run(checkpoints.revert(saved))
    assert (world.top / "large").read_bytes() == b"y" * 3000
    assert (world.top / "grows").read_bytes() == b"small"
    assert not (world.top / "agent-large").exists()
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert (world.top / "agent-large").read_bytes() == b"w" * 3000
    assert (world.top / "grows").read_bytes() == b"z" * 3000


def test_zero_saves_files_of_any_size(world: World) -> None:
    world.write("large", b"x" * 2000)
    with open(world.top / "larger", "wb") as file:
        file.truncate(LARGE_FILE_BYTES + 1)
    checkpoints = world.checkpoints(large_file_bytes=0)
    saved = run(checkpoints.save("story 1"))
    assert saved.warnings == ()
    for name in ("large", "larger"):
        (world.top / name).unlink()
    run(checkpoints.revert(saved))
    assert (world.top / "large").read_bytes() == b"x" * 2000
    assert (world.top / "larger").stat().st_size == LARGE_FILE_BYTES + 1


def test_a_huge_sparse_file_costs_no_time(world: World) -> None:
    with open(world.top / "huge", "wb") as file:
        file.truncate(5 << 30)
    began = time.monotonic()
    saved = run(world.checkpoints().save("story 1"))
    assert time.monotonic() - began < 10
    assert "huge is larger than 100 MB" in saved.warnings[0]
    assert (world.top / "huge").stat().st_size == 5 << 30


def test_sha256_repositories(tmp_path: Path) -> None:
    world = World(tmp_path, object_format="sha256")
    world.write("a", "1\n")
    world.commit()
    world.write("a", "2\n")
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.write("a", "3\n")
    world.commit()
    run(checkpoints.revert(saved))
    assert world.picture() == before
    assert len(saved.tree) == 64


@as_root
def test_unreadable_files_and_closed_folders_of_a_user_who_is_not_root(tmp_path: Path) -> None:
    world = World(tmp_path)
    as_nobody(world, lambda: _as_nobody(world))


def _as_nobody(world: World) -> None:
    world.write("secret", "x", 0o000)
    world.write("closed/file", "1")
    (world.top / "closed").chmod(0o500)
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    assert "secret is not readable" in saved.warnings[0]
    (world.top / "closed").chmod(0o700)
    world.write("closed/file", "2")
    world.write("closed/more", "2")
    (world.top / "closed").chmod(0o500)
    run(checkpoints.revert(saved))
    assert (world.top / "closed/file").read_text() == "1"
    assert not (world.top / "closed/more").exists()
    assert (world.top / "closed").stat().st_mode & 0o777 == 0o500
    assert (world.top / "secret").exists()


@pytest.mark.parametrize("inside", ["file", "deeper/file", None])
def test_a_folder_in_the_place_of_a_recorded_file_is_recorded(world: World, inside: str | None) -> None:
    run(world.checkpoints().save("story 1"))
    for name in ("untracked", "committed"):
        remove(world.top / name)
        (world.top / name).mkdir()
        if inside:
            world.write(f"{name}/{inside}", "in a folder\n")
    before = world.picture()
    saved = run(world.checkpoints().save("story 1, refused"))
    for name in ("untracked", "committed"):
        remove(world.top / name)
    run(world.checkpoints().revert(saved))
    assert world.picture() == before
