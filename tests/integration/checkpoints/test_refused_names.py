"""Names that git will not take into any index: there after a revert, byte for byte."""

import os
from pathlib import Path

import pytest

from tests.integration.checkpoints.world import World, entries, run

NAMES = [".GIT/f", ".Git", "deep/.gIT/x/y", "git~1", ".git ", ".git.", ".git::$INDEX_ALLOCATION", ".g\u200cit"]


def _make(world: World, content: str) -> None:
    for name in NAMES:
        world.write(name, content)
    for name in (".gitmodules", "deep/.gitmodules"):
        (world.top / name).unlink(missing_ok=True)
        (world.top / name).symlink_to(content.strip())


def test_names_that_git_refuses_are_left_and_named(world: World) -> None:
    _make(world, "mine\n")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    warned = {warning.partition(" is ")[0] for warning in saved.warnings}
    assert {".GIT/f", ".Git", "deep/.gIT/x/y", ".gitmodules", "deep/.gitmodules"} == warned
    world.write("committed", "agent\n")
    discarded = run(checkpoints.revert(saved))
    assert entries(world.top) == before
    assert discarded is not None
    assert discarded.warnings == ()
    run(checkpoints.restore(discarded.name))
    assert entries(world.top) == {**before, "committed": ("file", 0o644, b"agent\n")}


def test_names_that_git_refuses_and_an_agent_made_are_gone_and_come_back(world: World) -> None:
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    _make(world, "agent\n")
    attempt = entries(world.top)
    discarded = run(checkpoints.revert(saved))
    assert entries(world.top) == before
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert entries(world.top) == attempt


def test_a_recorded_file_that_becomes_one_git_refuses(world: World) -> None:
    path = world.write(".gitmodules", "")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    path.unlink()
    path.symlink_to("committed")
    attempt = entries(world.top)
    discarded = run(checkpoints.revert(saved))
    assert entries(world.top) == before
    assert discarded is not None
    run(checkpoints.restore(discarded.name))
    assert entries(world.top) == attempt


@pytest.mark.parametrize("setting", ["true", "false"])
def test_the_users_own_protection_settings_do_not_matter(world: World, setting: str) -> None:
    world.git("config", "core.protectNTFS", setting)
    world.git("config", "core.protectHFS", setting)
    _make(world, "mine\n")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    for name in ("git~1", ".git "):
        (world.top / name).write_text("agent\n")
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


def test_a_name_that_only_looks_like_a_git_directory_is_no_repository(world: World, tmp_path: Path) -> None:
    (world.top / "not-nested").mkdir()
    os.symlink(tmp_path / "nowhere", world.top / "not-nested/.GIT")
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    world.write("not-nested/new", "agent\n")
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("junk", [b"", b"no repository\n", b"gitdir: nowhere\n", None])
def test_files_beside_a_git_directory_that_is_none_are_saved(world: World, tracked: bool, junk: bytes | None) -> None:
    """Such as a fixture of a test suite: for git, its folder is one like any other."""
    world.write("fixture/in", "1\n")
    if tracked:
        world.commit("fixture")
    if junk is None:
        (world.top / "fixture/.git/folder").mkdir(parents=True)
    else:
        world.write("fixture/.git", junk)
    checkpoints, before = world.checkpoints(), world.picture()
    saved = run(checkpoints.save("story 1"))
    assert saved.warnings == ("fixture/.git is not a repository: it is neither saved nor touched",)
    world.write("fixture/in", "agent\n")
    world.write("fixture/new", "agent\n")
    attempt = world.picture()
    discarded = run(checkpoints.revert(saved))
    assert world.picture() == before
    assert os.path.lexists(world.top / "fixture/.git")
    assert discarded is not None
    run(world.checkpoints().restore(discarded.name))
    assert world.picture() == attempt
    run(world.checkpoints().revert(saved))
    assert world.picture() == before
