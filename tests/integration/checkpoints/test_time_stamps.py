"""Edits that keep size and mtime are seen, however soon they come after a checkpoint."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from spool.host.git.checkpoints.record import stamps
from spool.host.git.working_tree import GitWorktree
from tests.integration.checkpoints.world import World, entries, run

_LONG_AGO_NS = 1_000_000_000_000_000_000


def _in_place(path: Path, content: bytes) -> None:
    """Rewrite a file and give it its old time, as `touch -r` does."""
    times = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _copied(path: Path, content: bytes) -> None:
    """Put another file in its place, as `cp -p` and `rsync -t` do."""
    other = path.with_name("other")
    shutil.copy2(path, other)
    _in_place(other, content)
    other.replace(path)


def _unpacked(path: Path, content: bytes) -> None:
    times = path.stat()
    other = path.parent.parent / "pack"
    other.mkdir(exist_ok=True)
    (other / path.name).write_bytes(content)
    os.utime(other / path.name, ns=(times.st_atime_ns, times.st_mtime_ns))
    subprocess.run(["tar", "cf", "pack.tar", "-C", "pack", path.name], cwd=other.parent, check=True)
    subprocess.run(["tar", "xf", "../pack.tar"], cwd=path.parent, check=True)


@pytest.mark.parametrize("rewrite", [_in_place, _copied, _unpacked])
@pytest.mark.parametrize("folder", [None, Path("/dev/shm")])
def test_an_edit_that_keeps_size_and_time_is_reverted(
    tmp_path: Path, rewrite: Callable[[Path, bytes], None], folder: Path | None
) -> None:
    base = tmp_path
    if folder is not None and os.access(folder, os.W_OK):  # a name of its own: other workers do the same
        base = folder / f"{tmp_path.name}-{os.getpid()}-{rewrite.__name__}"
    try:
        world = World(base)
        path = world.write("file", b"0000\n")
        os.utime(path, ns=(_LONG_AGO_NS, _LONG_AGO_NS))
        world.commit()
        checkpoints, worktree = world.checkpoints(), GitWorktree(world.repository(), timeout_s=30)
        for number in range(1, 6):
            run(worktree.mark())
            saved, before = run(checkpoints.save("story 1")), entries(world.top)
            rewrite(path, b"%04d\n" % number)
            found = run(worktree.changes(()))
            assert found is not None and found.files == ("file",)
            discarded = run(checkpoints.revert(saved))
            assert entries(world.top) == before
            assert discarded is not None and discarded.files == 1
            rewrite(path, b"%04d\n" % (number + 100))
    finally:
        shutil.rmtree(base, ignore_errors=True)


def test_a_second_edit_after_a_revert_is_seen(world: World) -> None:
    """The revert itself wrote the file a moment ago."""
    path = world.write("quick", "old\n")
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    for _ in range(3):
        _in_place(path, b"new\n")
        run(checkpoints.revert(saved))
        assert path.read_bytes() == b"old\n"


def test_an_edit_is_seen_although_the_notes_are_lost(world: World) -> None:
    path = world.write("quick", "old\n")
    os.utime(path, ns=(_LONG_AGO_NS, _LONG_AGO_NS))
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    next((world.top / ".git/spool/shadow").glob("*/known")).unlink()
    _in_place(path, b"new\n")
    run(checkpoints.revert(saved))
    assert path.read_bytes() == b"old\n"


@pytest.mark.parametrize("setting", ["core.trustctime=false", "core.checkStat=minimal", "core.fileMode=false"])
@pytest.mark.parametrize("where", ["environment", "parameters", "repository", "global"])
def test_settings_about_status_do_not_matter(
    world: World, monkeypatch: pytest.MonkeyPatch, setting: str, where: str
) -> None:
    key, _, value = setting.partition("=")
    if where == "environment":
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", key)
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", value)
    elif where == "parameters":
        monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'{setting}'")
    elif where == "global":
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(world.base / "global"))
        world.git("config", "--file", str(world.base / "global"), key, value)
    else:
        world.git("config", key, value)
    path = world.write("quick", "old\n", 0o644)
    os.utime(path, ns=(_LONG_AGO_NS, _LONG_AGO_NS))
    checkpoints, before = world.checkpoints(), entries(world.top)
    saved = run(checkpoints.save("story 1"))
    _copied(path, b"new\n")
    path.chmod(0o755)
    run(checkpoints.revert(saved))
    assert entries(world.top) == before


@pytest.mark.parametrize(
    ("changed_s", "past"),
    [
        (97.9, True),
        (98.1, True),
        (99.97, True),
        (99.99, False),
        (100.5, False),
        (98.0, False),
        (99.0, False),
        (97, True),
    ],
)
def test_whole_seconds_prove_less_than_fractions(changed_s: float, past: bool) -> None:
    assert stamps.is_past(int(changed_s * 1000) * 1_000_000, 100_000_000_000) is past
