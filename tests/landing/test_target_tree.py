"""The working tree that has the target checked out follows, and loses no byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.landing.support import Field, make_field, part


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return make_field(tmp_path)


def held(field: Field, *names: str) -> dict[str, object]:
    """Land one change that must be held back, and return why; nothing may have moved."""
    before = field.tip(), field.git("status", "--porcelain")
    found = field.landed("one", code=1)["one"]
    assert found["fate"] == "held"
    assert (field.tip(), field.git("status", "--porcelain")) == before
    assert tuple(found.get("files", ())) == names
    assert field.leavings() == []
    return found


def test_uncommitted_edits_hold_it_back(field: Field) -> None:
    field.change("one", part("one"))
    (field.root / "shared.txt").write_text("mine\n")
    found = held(field, "shared.txt")
    assert "shared.txt" in str(found["why"])
    assert "git stash" in field.land("one", code=1).stdout
    field.git("add", "shared.txt")
    held(field, "shared.txt")
    field.git("commit", "--quiet", "--message", "mine")
    assert field.fates("one", code=0) == {"one": "landed"}


def test_untracked_and_ignored_files_in_the_way_hold_it_back(field: Field) -> None:
    field.change("one", {"new/file.txt": "landed\n", "kept.log": "landed\n"})
    field.commit({".gitignore": "*.log\n__pycache__/\n"}, "ignore")
    (field.root / "other.txt").write_text("not in the way\n")
    (field.root / "new").mkdir()
    (field.root / "new" / "file.txt").write_text("mine\n")
    (field.root / "kept.log").write_text("mine\n")
    held(field, "kept.log", "new/file.txt")
    assert (field.root / "new" / "file.txt").read_text() == "mine\n"
    (field.root / "new" / "file.txt").unlink()
    (field.root / "kept.log").rename(field.root / "aside.log")
    assert field.fates("one", code=0) == {"one": "landed"}
    assert (field.root / "other.txt").read_text() == "not in the way\n"


def test_an_untracked_file_that_equals_what_lands_does_not_block_it(field: Field) -> None:
    field.change("one", {"new/file.txt": "landed\n", "PLAN.md": "- [x] one\n  1. [X] two\n"})
    (field.root / "new").mkdir()
    (field.root / "new" / "file.txt").write_text("landed\n")
    (field.root / "PLAN.md").write_text("- [ ] one\n  1. [X] two\n")
    assert field.fates("one", code=0) == {"one": "landed"}
    assert (field.root / "PLAN.md").read_text() == "- [x] one\n  1. [X] two\n"
    assert field.git("status", "--porcelain") == ""


def test_a_link_in_the_way_is_not_followed(field: Field) -> None:
    field.change("one", {"new/file.txt": "landed\n"})
    outside = field.root.parent / "outside"
    outside.mkdir()
    (field.root / "new").symlink_to(outside)
    held(field, "new")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_an_edit_that_git_was_told_to_ignore_holds_it_back(field: Field, flag: str) -> None:
    field.change("one", {"shared.txt": "landed\n"})
    field.git("update-index", flag, "shared.txt")
    (field.root / "shared.txt").write_text("mine\n")
    held(field, "shared.txt")
    assert (field.root / "shared.txt").read_text() == "mine\n"


def test_a_merge_in_the_middle_holds_it_back(field: Field) -> None:
    field.change("one", part("one"))
    (field.root / ".git" / "MERGE_HEAD").write_text(f"{field.tip()}\n")
    held(field)


def test_a_git_command_of_the_persons_holds_it_back(field: Field) -> None:
    field.change("one", part("one"))
    lock = field.root / ".git" / "index.lock"
    lock.write_text("")
    found = field.landed("one", code=1)["one"]
    assert found["fate"] == "held"
    assert str(lock) in found["why"]
    lock.unlink()
    assert field.fates("one", code=0) == {"one": "landed"}


def test_kinds_of_files(field: Field) -> None:
    """Modes, links, deletions, and a folder that becomes a file."""
    field.commit({"folder/a.txt": "a\n", "folder/b.txt": "b\n", "gone.txt": "x\n", "run.sh": "true\n"}, "kinds")
    place = field.root.parent / "place"
    field.git("worktree", "add", "--quiet", "-b", "change/one", str(place))
    field.git("rm", "--quiet", "-r", "folder", "gone.txt", cwd=place)
    (place / "run.sh").chmod(0o755)
    os.symlink("run.sh", place / "link")
    field.commit({"folder": "a file now\n", "deep/er/x.txt": "x\n"}, "kinds change", cwd=place)
    field.git("worktree", "remove", str(place))
    field.finish("one")
    assert field.fates("one", code=0) == {"one": "landed"}
    assert field.status() == ""
    assert (field.root / "folder").read_text() == "a file now\n"
    assert os.readlink(field.root / "link") == "run.sh"
    assert os.access(field.root / "run.sh", os.X_OK)
    assert not (field.root / "gone.txt").exists()


def test_another_worktree_has_the_target(field: Field) -> None:
    field.git("switch", "--quiet", "--create", "elsewhere")
    other = field.root.parent / "other"
    field.git("worktree", "add", "--quiet", str(other), "main")
    field.change("one", part("one"))
    (field.root / "shared.txt").write_text("an edit here is not in the way\n")
    assert field.fates("one", code=0) == {"one": "landed"}
    assert (other / "one.txt").exists()
    assert not (field.root / "one.txt").exists()
    assert field.git("status", "--porcelain", cwd=other) == ""
    assert field.git("reflog", "-1", "--format=%gs", cwd=other) == "spool: land one"


def test_nobody_has_the_target(field: Field) -> None:
    field.git("switch", "--quiet", "--create", "elsewhere")
    field.change("one", part("one"))
    assert field.fates("one", code=0) == {"one": "landed"}
    assert not (field.root / "one.txt").exists()
    assert field.git("show", "main:one.txt") == "one"


def test_hooks_and_the_file_system_monitor_do_not_run(field: Field) -> None:
    field.change("one", part("one"))
    ran = field.root.parent / "ran"
    for hook in ("pre-commit", "post-checkout", "post-merge", "reference-transaction", "post-rewrite", "pre-rebase"):
        path = field.root / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
        path.chmod(0o755)
    field.git("config", "core.fsmonitor", f"touch {ran}; false")
    assert field.fates("one", code=0) == {"one": "landed"}
    assert not ran.exists()
