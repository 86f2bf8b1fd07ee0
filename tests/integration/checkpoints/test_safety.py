"""Nothing of the user's is run, nobody else can read it, and a stop is obeyed at any moment."""

import asyncio
import os
import stat
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from spool.errors import CommandTimeout, StateError, UnreadableState
from spool.host.git.checkpoints.checkpoints import Checkpoints
from spool.host.git.working_tree import GitWorktree
from tests.integration.checkpoints.world import CHANGE, World, entries, run


def test_no_hook_filter_monitor_or_diff_program_of_the_user_runs(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho $0 $* >> {mark}\ncat\n")
    script.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "post-index-change", "pre-auto-gc", "fsmonitor-watchman"):
        (hooks / name).write_text(script.read_text())
        (hooks / name).chmod(0o755)
        (world.top / ".git/hooks" / name).write_text(script.read_text())
        (world.top / ".git/hooks" / name).chmod(0o755)
    world.write(".gitattributes", "* filter=x diff=x\n")
    for where in ("--local", "--global"):
        for key in (
            "core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.external",
            "diff.x.command", "diff.x.textconv", "core.alternateRefsCommand",
        ):  # fmt: skip
            world.git("config", where, key, str(script))
        world.git("config", where, "core.hooksPath", str(hooks))
    monkeypatch.setenv("HOME", world.env["HOME"])
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    world.write("committed", "agent\n")
    world.git("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "branch", "agent")
    discarded = run(checkpoints.revert(saved))
    assert discarded is not None
    run(checkpoints.show(discarded.name))
    run(checkpoints.diff(discarded.name))
    run(checkpoints.restore(discarded.name))
    run(checkpoints.cleanup())
    assert not mark.exists(), mark.read_text()


def test_nobody_else_can_read_it_whatever_the_umask(world: World) -> None:
    before = os.umask(0)
    try:
        checkpoints = world.checkpoints()
        saved = run(checkpoints.save("story 1"))
        world.write("committed", "agent\n")
        run(checkpoints.revert(saved))
    finally:
        os.umask(before)
    folder = world.top / ".git/spool"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_everything_is_synced(world: World) -> None:
    run(world.checkpoints().save("story 1"))
    config = next((world.top / ".git/spool/shadow").iterdir()) / "config"
    assert "fsync = all" in config.read_text()


def test_a_git_that_hangs_ends_in_a_timeout(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = run(world.checkpoints().save("story 1"))
    repository = world.repository()
    world.write("committed", "agent\n")
    _slow_git(world, monkeypatch, 3600)
    checkpoints = Checkpoints(repository, CHANGE, now=lambda: saved.saved_at, timeout_s=0.5)
    for work in (lambda: checkpoints.save("story 2"), lambda: checkpoints.revert(saved)):
        began = time.monotonic()
        with pytest.raises(CommandTimeout):
            run(work())
        assert time.monotonic() - began < 3
    monkeypatch.undo()
    run(world.checkpoints().revert(saved))
    assert (world.top / "committed").read_text() == "2\n"


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.05, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("what", ["save", "revert"])
def test_a_stop_is_obeyed_within_half_a_second(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str, after_s: float
) -> None:
    for number in range(300):
        world.write(f"many/{number}", f"{number}\n")
    saved, before, repository = run(world.checkpoints().save("story 1")), entries(world.top), world.repository()
    for number in range(300):
        world.write(f"many/{number}", "agent\n")
    _slow_git(world, monkeypatch, 0.02 if after_s < 0.2 else 5)
    checkpoints = Checkpoints(repository, CHANGE, now=lambda: saved.saved_at, timeout_s=30)
    work = (lambda: checkpoints.save("story 2")) if what == "save" else (lambda: checkpoints.revert(saved))
    assert run(_stopped(work, after_s)) < 0.5
    monkeypatch.undo()
    if what == "revert":
        run(world.checkpoints().revert(saved))
        assert entries(world.top) == before


async def _stopped(work: Callable[[], object], after_s: float) -> float:
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.01)

    ticking = asyncio.ensure_future(tick())
    task = asyncio.ensure_future(work())  # type: ignore[call-overload]
    await asyncio.sleep(after_s)
    task.cancel()
    began = time.monotonic()
    await asyncio.wait({task})
    ticking.cancel()
    gaps = [later - earlier for earlier, later in pairwise(ticks)]
    assert max(gaps, default=0) < 0.3, "the event loop was blocked"
    return time.monotonic() - began


def _slow_git(world: World, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    folder = world.base / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "git").write_text(f'#!/bin/sh\nsleep {seconds}\nPATH="{os.environ["PATH"]}" exec git "$@"\n')
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_a_damaged_checkpoint_is_reported_and_a_newer_one_refused(world: World) -> None:
    checkpoints = world.checkpoints()
    run(checkpoints.save("story 1"))
    path = next((world.top / ".git/spool/shadow").iterdir()) / "spool/checkpoints/add-auth"
    data = path.read_bytes()
    for damage in (data[:100], b"", b"\xc0", data + b"x"):
        path.write_bytes(damage)
        with pytest.raises(UnreadableState):
            run(checkpoints.current())
        assert path.read_bytes() == damage
    path.write_bytes(msgspec.msgpack.encode({**msgspec.msgpack.decode(data), "schema": 999}))
    with pytest.raises(StateError, match="newer Spool"):
        run(checkpoints.current())


def test_a_damaged_or_missing_shadow_index_is_read_anew(world: World) -> None:
    checkpoints = world.checkpoints()
    saved = run(checkpoints.save("story 1"))
    shadow = next((world.top / ".git/spool/shadow").iterdir())
    for damage in (b"", b"garbage", (shadow / "index").read_bytes()[:-30]):
        (shadow / "index").write_bytes(damage)
        world.write("committed", f"agent {len(damage)}\n")
        run(checkpoints.revert(saved))
        assert (world.top / "committed").read_text() == "2\n"
    (shadow / "index.lock").touch()
    (shadow / "known").write_bytes(b"garbage")
    assert run(checkpoints.save("story 2")).tree == saved.tree


def test_changes_are_still_counted(world: World) -> None:
    worktree = GitWorktree(world.repository(), timeout_s=30)
    run(worktree.mark())
    world.write("committed", "one\ntwo\n")
    world.write("new", "x\n")
    world.write("harness.lock", "x\n")
    found = run(worktree.changes(("*.lock",)))
    assert found is not None
    assert (found.count, found.files, found.insertions, found.deletions) == (2, ("committed", "new"), 4, 1)
    again = run(worktree.changes(()))
    assert again is not None
    assert (again.count, again.files) == (0, ())


def test_checkpoints_and_counting_share_one_shadow(world: World) -> None:
    checkpoints = world.checkpoints()
    worktree = GitWorktree(world.repository(), timeout_s=30)
    run(worktree.mark())
    saved = run(checkpoints.save("story 1"))
    world.write("committed", "agent\n")
    found = run(worktree.changes(()))
    assert found is not None and found.count == 1
    run(checkpoints.revert(saved))
    found = run(worktree.changes(()))
    assert found is not None and found.count == 1
    assert (world.top / "committed").read_text() == "2\n"
