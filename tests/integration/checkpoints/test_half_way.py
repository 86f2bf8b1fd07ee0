"""Nothing that an agent leaves behind stops a revert half-way: the rest is reverted, and what is not is named."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.checkpoints.world import World, as_root, entries, run


def _agent(world: World) -> None:
    world.git("checkout", "-q", "-b", "agent")
    world.write("committed", "agent\n")
    world.write("new/file", "agent\n")
    world.commit("agent")
    world.git("branch", "-f", "old")
    world.write("staged", "agent\n")


@pytest.fixture
def saved(world: World) -> World:
    world.git("branch", "old")
    world.git("branch", "older")
    return world


@pytest.mark.parametrize("lock", ["refs/heads/old.lock", "packed-refs.lock", "HEAD.lock", "refs/heads/agent.lock"])
def test_a_lock_of_a_ref_that_was_left_stops_only_that_ref(saved: World, lock: str) -> None:
    world = saved
    checkpoints, before = world.checkpoints(), world.picture()
    checkpoint = run(checkpoints.save("story 1"))
    _agent(world)
    path = world.top / ".git" / lock
    path.touch()
    os.utime(path, (1_000_000_000, 1_000_000_000))
    discarded = run(checkpoints.revert(checkpoint))
    after = world.picture()
    assert path.exists()
    assert after.entries == before.entries
    assert after.index == before.index
    assert discarded is not None
    named = {"packed-refs": "refs/heads/agent", "HEAD": "HEAD"}.get(lock[:-5], lock[:-5])
    assert [warning for warning in discarded.warnings if warning.startswith(f"{named} cannot be brought back")]
    path.unlink()
    run(checkpoints.revert(checkpoint))
    assert world.picture() == before


@pytest.mark.parametrize("name", ["config", "HEAD"])
@pytest.mark.parametrize("content", [b"garbage [", b"", None, b"\0\xff"])
def test_a_broken_head_or_configuration(saved: World, name: str, content: bytes | None) -> None:
    world = saved
    checkpoints, before = world.checkpoints(), world.picture()
    checkpoint = run(checkpoints.save("story 1"))
    _agent(world)
    path = world.top / ".git" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    run(checkpoints.revert(checkpoint))
    assert world.picture() == before


@pytest.mark.parametrize("name", ["index", "packed-refs"])
@pytest.mark.parametrize("content", [b"garbage [", b"", None, b"\0\xff", b"DIRC\0\0\0\2"])
def test_a_broken_index_or_list_of_refs(saved: World, name: str, content: bytes | None) -> None:
    """An index that git cannot read is part of the attempt, byte for byte."""
    world = saved
    world.git("pack-refs", "--all")
    checkpoints, before = world.checkpoints(), world.picture()
    checkpoint = run(checkpoints.save("story 1"))
    _agent(world)
    path = world.top / ".git" / name
    path.unlink()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    discarded = run(checkpoints.revert(checkpoint))
    assert world.picture() == before
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert name != "index" or content is None or path.read_bytes() == content
    run(checkpoints.revert(checkpoint))
    assert world.picture() == before


def test_a_link_that_leads_to_itself_in_the_place_of_a_folder(saved: World) -> None:
    world = saved
    checkpoints, before = world.checkpoints(), world.picture()
    checkpoint = run(checkpoints.save("story 1"))
    shutil.rmtree(world.top / "src")
    (world.top / "src").symlink_to("src")
    attempt = world.picture()
    discarded = run(checkpoints.revert(checkpoint))
    assert world.picture() == before
    assert discarded is not None
    assert discarded.warnings == ()
    run(checkpoints.restore(discarded.name))
    assert world.picture() == attempt


def test_a_removed_folder_of_refs(saved: World) -> None:
    world = saved
    checkpoints, before = world.checkpoints(), world.picture()
    checkpoint = run(checkpoints.save("story 1"))
    _agent(world)
    shutil.rmtree(world.top / ".git/refs")
    run(checkpoints.revert(checkpoint))
    assert world.picture() == before


def test_a_broken_configuration_of_a_nested_repository(world: World) -> None:
    nested = world.top / "nested"
    nested.mkdir()
    world.git("init", "-q", "-b", "main", cwd=nested)
    (nested / "file").write_text("1\n")
    world.commit("nested", cwd=nested)
    checkpoints, before, inner = world.checkpoints(), world.picture(), world.picture(nested)
    saved = run(checkpoints.save("story 1"))
    (nested / "file").write_text("agent\n")
    world.write("committed", "agent\n")
    (nested / ".git/config").write_text("garbage [\n")
    discarded = run(checkpoints.revert(saved))
    assert (world.picture(), world.picture(nested)) == (before, inner)
    assert discarded is not None
    assert "nested: .git/config could not be read by git" in " ".join(discarded.warnings)


@pytest.mark.parametrize("content", [b"gitdir: a\0b\n", b"\0", b"gitdir: \xff\n", b"", b"gitdir: " + b"x" * 5000])
@pytest.mark.parametrize("where", ["nested", "src"])
def test_anything_in_a_nested_git_file(world: World, where: str, content: bytes) -> None:
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    world.write(f"{where}/more", "agent\n")
    world.write(f"{where}/.git", content)
    world.write("committed", "agent\n")
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert (world.top / where / ".git").read_bytes() == content


@pytest.mark.parametrize("length", [250, 252, 255])
def test_ignored_files_with_long_names(world: World, length: int) -> None:
    name = "x" * (length - 4) + ".log"
    world.write(name, "mine\n")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    world.write(name, "agent\n")
    world.write("committed", "agent\n")
    run(checkpoints.revert(saved))
    assert entries(world.top) == before
    (world.top / name).unlink()
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


def _deep(top: Path, length: int, letter: str = "d") -> None:
    """Make a folder whose path has this length, one level at a time: the whole of it may be too long."""
    rest = length - len(os.fsencode(top))
    where = os.open(top, os.O_RDONLY)
    while rest:
        size = 200 if rest > 402 else rest // 2 if rest > 201 else rest - 1
        os.mkdir(letter * size, dir_fd=where)
        inner = os.open(letter * size, os.O_RDONLY, dir_fd=where)
        os.close(where)
        where, rest = inner, rest - size - 1
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=where))
    os.close(where)


def _remove_deep(world: World) -> None:
    for name in ("d" * 200, "e" * 200):
        subprocess.run(["rm", "-rf", world.top / name], check=True)


# Linux takes paths of 4095 bytes: all of it fits, the file does not, the folder just does, just does not, far beyond.
@pytest.mark.parametrize("length", [3700, 4090, 4091, 4095, 4096, 4296, 5100])
@pytest.mark.parametrize("before", [False, True])
def test_paths_beyond_the_limit(world: World, length: int, before: bool) -> None:
    if before:
        _deep(world.top, length)
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    if not before:
        _deep(world.top, length)
    world.write("committed", "agent\n")
    world.write("new/file", "agent\n")
    discarded = run(checkpoints.revert(saved))
    assert (world.top / "committed").read_text() == "2\n"
    assert not (world.top / "new").exists()
    assert discarded is not None
    if before:
        assert (world.top / ("d" * 200)).is_dir()
        warnings = saved.warnings
    else:
        warnings = discarded.warnings if (world.top / ("d" * 200)).exists() else ("gone",)
    assert length < 5000 or warnings
    _remove_deep(world)


def test_a_new_folder_beyond_the_limit_in_an_old_one_is_named(world: World) -> None:
    _deep(world.top, 4000)
    deepest = next(Path(folder) for folder, _, files in os.walk(world.top / ("d" * 200)) if files)
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    where = os.open(deepest, os.O_RDONLY)
    os.mkdir("e" * 200, dir_fd=where)
    os.close(where)
    world.write("committed", "agent\n")
    discarded = run(checkpoints.revert(saved))
    assert (world.top / "committed").read_text() == "2\n"
    assert discarded is not None
    assert [warning for warning in discarded.warnings if "e" * 20 in warning or "File name too long" in warning]
    _remove_deep(world)


@as_root
def test_a_file_that_cannot_be_written_is_named_and_the_rest_reverted(world: World) -> None:
    world.write("fixed", "1\n")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    world.write("fixed", "agent\n")
    world.write("committed", "agent\n")
    if subprocess.run(["chattr", "+i", world.top / "fixed"], capture_output=True).returncode:
        pytest.skip("this file system has no immutable files")
    try:
        discarded = run(checkpoints.revert(saved))
    finally:
        subprocess.run(["chattr", "-i", world.top / "fixed"], check=True)
    assert (world.top / "committed").read_text() == "2\n"
    assert discarded is not None
    assert [warning.partition(" ")[0] for warning in discarded.warnings] == ["fixed"]
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


@pytest.mark.parametrize("how", ["count", "parameters", "global"])
def test_settings_in_the_environment_change_nothing(world: World, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    settings = {
        "core.symlinks": "false", "core.fileMode": "false", "core.autocrlf": "true", "core.eol": "crlf",
        "core.ignoreCase": "true", "core.bare": "true", "core.worktree": "/", "core.sparseCheckout": "true",
        "core.attributesFile": "/dev/null", "core.protectNTFS": "true", "index.version": "4",
    }  # fmt: skip
    (world.top / "link").symlink_to("committed")
    world.write("README", "upper\n")
    world.write("readme", "lower\n")
    world.write("tool", "#!/bin/sh\n", 0o755)
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    repository = world.repository()
    _into_environment(world, monkeypatch, how, settings)
    checkpoints = type(checkpoints)(repository, "add-auth", now=lambda: saved.saved_at, timeout_s=30)
    saved = run(checkpoints.save("story 1"))
    (world.top / "link").unlink()
    (world.top / "link").write_text("agent\n")
    (world.top / "tool").chmod(0o644)
    for name in ("readme", "README", "committed"):
        world.write(name, "agent\r\n")
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


def _into_environment(world: World, monkeypatch: pytest.MonkeyPatch, how: str, settings: dict[str, str]) -> None:
    if how == "count":
        monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
        for number, (key, value) in enumerate(settings.items()):
            monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
            monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    elif how == "parameters":
        monkeypatch.setenv("GIT_CONFIG_PARAMETERS", " ".join(f"'{key}={value}'" for key, value in settings.items()))
    else:
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(world.base / "global"))
        for key, value in settings.items():
            if key not in ("core.bare", "core.worktree"):
                world.git("config", "--file", str(world.base / "global"), key, value)


def _delete(world: World) -> None:
    world.git("branch", "-D", "old")
    world.git("tag", "-d", "v1")
    world.git("symbolic-ref", "--delete", "refs/heads/alias")


def _point_elsewhere(world: World) -> None:
    world.git("symbolic-ref", "refs/heads/alias", "refs/heads/old")


def _make_plain(world: World) -> None:
    world.git("update-ref", "--no-deref", "refs/heads/alias", "HEAD")


@pytest.mark.parametrize("change", [_delete, _point_elsewhere, _make_plain])
@pytest.mark.parametrize("trees", [1, 2])
def test_branches_tags_and_symbolic_refs_come_back(saved: World, trees: int, change: Callable[[World], None]) -> None:
    world = saved
    world.git("tag", "v1")
    world.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    if trees == 2:
        if change is not _delete:
            pytest.skip("who moved a ref cannot be known")
        world.git("worktree", "add", "-q", str(world.base / "second"), "-b", "second")
    checkpoints, before = world.checkpoints(), world.picture()
    checkpoint = run(checkpoints.save("story 1"))
    change(world)
    attempt = world.picture()
    discarded = run(checkpoints.revert(checkpoint))
    assert world.picture() == before
    assert discarded is not None
    assert discarded.warnings == ()
    if trees == 1:
        run(checkpoints.restore(discarded.name))
        assert world.picture() == attempt


def test_a_branch_that_another_working_tree_was_on_and_deleted_stays_deleted(saved: World) -> None:
    world, second = saved, saved.base / "second"
    world.git("worktree", "add", "-q", str(second), "-b", "second")
    checkpoints = world.checkpoints()
    checkpoint = run(checkpoints.save("story 1"))
    world.git("checkout", "-q", "old", cwd=second)
    world.git("checkout", "-q", "second", cwd=second)
    world.git("branch", "-D", "old", cwd=second)
    world.git("branch", "-D", "older")
    discarded = run(checkpoints.revert(checkpoint))
    assert "refs/heads/older" in world.refs()
    assert "refs/heads/old\n" not in world.refs() + "\n"
    assert discarded is not None
    assert discarded.warnings == ("refs/heads/old was changed, perhaps from another working tree: left",)


def test_head_on_a_symbolic_branch_comes_back(saved: World) -> None:
    world = saved
    world.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    world.git("symbolic-ref", "HEAD", "refs/heads/alias")
    checkpoints, before = world.checkpoints(), world.picture()
    checkpoint = run(checkpoints.save("story 1"))
    world.git("checkout", "-q", "-f", "old")
    run(checkpoints.revert(checkpoint))
    assert world.picture() == before


@pytest.mark.parametrize("name", ["HEAD", "refs/heads/main", "refs/heads/old", "refs/tags/new"])
def test_a_ref_to_a_commit_that_does_not_exist(saved: World, name: str) -> None:
    world = saved
    checkpoints, before = world.checkpoints(), world.picture()
    checkpoint = run(checkpoints.save("story 1"))
    world.write("committed", "agent\n")
    (world.top / ".git" / name).write_text("12345678" * 5 + "\n")
    discarded = run(checkpoints.revert(checkpoint))
    assert world.picture() == before
    assert discarded is not None
    assert discarded.warnings == ()
