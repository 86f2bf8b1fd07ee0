"""An unchanged tree is seen without git, and every change is seen, whatever it leaves unchanged."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from spool.host.git.checkpoints.record import quick_check
from tests.integration.checkpoints.recording import recorder_of, settle
from tests.integration.checkpoints.world import World, run


def test_an_unchanged_tree_is_recorded_without_git(world: World, asked: list[str]) -> None:
    recorder = recorder_of(world)
    first = settle(world, recorder)
    asked.clear()
    assert run(recorder.record()) == first
    assert asked == []


def test_of_a_large_unchanged_tree_git_is_asked_once(
    world: World, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_check, "MOST_FILES", 2)
    recorder = recorder_of(world)
    first = settle(world, recorder)
    asked.clear()
    assert run(recorder.record()) == first
    assert asked == ["git diff-files"]


def edit(top: Path) -> None:
    times = (top / "src/code.py").stat()
    (top / "src/code.py").write_text("print(2)\n")
    os.utime(top / "src/code.py", ns=(times.st_atime_ns, times.st_mtime_ns))


def swap_for_link(top: Path) -> None:
    (top / "src").rename(top.parent / "src")
    (top / "src").symlink_to(top.parent / "src")


def show_hidden(top: Path) -> None:
    """Take the rule back with which a folder hides all that is in it, without changing any folder."""
    (top / "hidden/.gitignore").write_text("#\n")


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited, with the same size and time": edit,
    "a new file": lambda top: (top / "src/new").write_text("n\n"),
    "a new file in a folder of ignored ones": lambda top: (top / "logs/new").write_text("n\n"),
    "a file in a folder that was empty": lambda top: (top / "empty/deep/file").write_text("n\n"),
    "a removed file": lambda top: (top / "untracked").unlink(),
    "a renamed file": lambda top: (top / "untracked").rename(top / "named"),
    "another mode of a file": lambda top: (top / "committed").chmod(0o755),
    "a folder that is a link now": swap_for_link,
    "a rule that hid itself is gone": show_hidden,
    "another rule": lambda top: (top / ".gitignore").write_text("*.log\nnode_modules/\n"),
    "a rule outside the tree is gone": lambda top: (top / ".git/info/exclude").write_text("#\n"),
    "another mode of a folder": lambda top: (top / "src").chmod(0o700),
    "a new FIFO": lambda top: os.mkfifo(top / "src/fifo"),
    "an ignored file more": lambda top: (top / "src/more.log").write_text("l\n"),
}


@pytest.mark.parametrize("small", [True, False], ids=["small", "large"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_is_seen(
    world: World, change: Callable[[Path], object], small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not small:
        monkeypatch.setattr(quick_check, "MOST_FILES", 2)
    world.write("logs/a.log")
    world.write("secret")
    world.write(".git/info/exclude", "secret\n")
    world.write("hidden/.gitignore", "*\n")
    world.write("hidden/file")
    (world.top / "empty/deep").mkdir(parents=True)
    recorder = recorder_of(world)
    before = settle(world, recorder)
    change(world.top)
    after = run(recorder.record())
    recorder.shadow.forget()
    (recorder.shadow.git_dir / "known").unlink()
    assert after == run(recorder_of(world).record())
    assert after != before


def test_a_folder_that_becomes_a_repository_is_seen(world: World) -> None:
    recorder = recorder_of(world)
    settle(world, recorder)
    shutil.copytree(world.top / ".git", world.top / "src/.git", ignore=shutil.ignore_patterns("spool"))
    assert run(recorder.record()).grown == [b"src"]
