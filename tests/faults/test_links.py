"""Links where Spool reads and writes: nothing outside the repository is read, written or truncated."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from spool.host.state.files import replace_file
from spool.nofollow import Linked, make_folder, open_file, read_file
from tests.support import CHANGE, Scratch
from tests.support.machine import shell_agent
from tests.support.worktrees import Fleet

SECRET = "ssh-ed25519 AAAAprecious"
AGENT = r"""
cat > /dev/null
echo x >> work.txt
sed -i 's/\[ \]/[x]/' .spool/changes/*/tasks.md
echo '<promise>COMPLETE</promise>'
"""
DOORS = {"ralph": (".spool", ".git/spool"), "run": (".spool/.state", ".git/spool"), "wt-loop": (".claude", ".git/info")}
"""The folders that each command is tried on; what the others share is tried once."""


def start(scratch: Scratch, door: str) -> subprocess.CompletedProcess[str]:
    match door:
        case "ralph":
            return scratch.ralph("Go", "--max-iterations", "2")
        case "run":
            return scratch.spool("run", CHANGE, "--max-retries", "0")
        case _:
            words = ("start", CHANGE, "Go", "--path", ".", "--harness", "opencode", "--terminal", "none")
            done = Fleet(scratch).wt(*words, "--done", "promise")
            scratch.spool("stop", "--all")
            return done


def places(scratch: Scratch, door: str) -> list[str]:
    """Return every file and folder that Spool made or reads, below the repository; git's own files are git's."""
    found = []
    for name in DOORS[door]:
        for folder, folders, files in os.walk(scratch.root / name):
            inside = Path(folder).relative_to(scratch.root)
            found += [str(inside), *(str(inside / file) for file in files)]
            folders[:] = [one for one in folders if one not in ("objects", "refs")]
    return found


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(root.rglob("*"))
    }


def lead_outside(path: Path, outside: Path) -> None:
    """Put a link in place of a file or folder, to a copy that says something secret in every file."""
    target = outside / "there"
    if path.is_dir():
        shutil.copytree(path, target)
        for inner in [one for one in target.rglob("*") if one.is_file()]:
            if inner.suffix == ".md":
                inner.write_text(f"# {SECRET}\n\n- [ ] 1.1 {SECRET}\n")
        shutil.rmtree(path)
    else:
        target.write_text(f"# {SECRET}\n\n- [ ] 1.1 {SECRET}\n")
        path.unlink()
    path.symlink_to(target)


def prompts(scratch: Scratch) -> Iterator[str]:
    for path in scratch.root.rglob("*.prompt.md"):
        if stat.S_ISREG(path.lstat().st_mode):
            yield path.read_text()


@pytest.mark.parametrize("door", DOORS)
def test_whatever_is_a_link_nothing_outside_is_read_or_written(scratch: Scratch, tmp_path: Path, door: str) -> None:
    module = scratch.root / ".spool" / "modules" / "002_loops" / "module.md"
    spec = scratch.change / "specs" / "loop" / "spec.md"
    for path in (module, spec):
        path.parent.mkdir(parents=True)
        path.write_text("# Words\n\n#### Scenario: one\n\n- WHEN a\n- THEN b\n")
    (scratch.root / ".spool" / "config.toml").write_text("max_iterations = 5\n")
    scratch.git("add", "--all")
    scratch.git("commit", "--quiet", "--message", "more")
    shell_agent(scratch, AGENT)
    scratch.env["XDG_STATE_HOME"] = str(scratch.home / "state")
    first = start(scratch, door)
    assert first.returncode == 0, first.stderr
    scratch.git("checkout", "--quiet", "--", ".spool/changes")
    pristine = tmp_path / "pristine"
    shutil.copytree(scratch.root, pristine, symlinks=True)
    outside = tmp_path / "outside"
    for place in places(scratch, door):
        shutil.rmtree(scratch.root)
        shutil.copytree(pristine, scratch.root, symlinks=True)
        shutil.rmtree(outside, ignore_errors=True)
        outside.mkdir()
        lead_outside(scratch.root / place, outside)
        before = snapshot(outside)
        done = start(scratch, door)
        assert "Traceback" not in done.stderr, (place, done.stderr)
        assert snapshot(outside) == before, place
        assert not any(SECRET in prompt for prompt in prompts(scratch)), place
        assert SECRET not in done.stdout + done.stderr, place


@pytest.mark.parametrize("place", [".spool", ".spool/changes", f".spool/changes/{CHANGE}", ".spool/.state"])
@pytest.mark.parametrize("words", [("ralph", "Go", "-c", CHANGE), ("run", CHANGE), ("stories", CHANGE)])
def test_a_folder_that_is_a_link_is_refused_with_a_plain_error(
    scratch: Scratch, tmp_path: Path, place: str, words: tuple[str, ...]
) -> None:
    if place == ".spool/.state":
        (scratch.root / place).mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    lead_outside(scratch.root / place, outside)
    done = scratch.spool(*words)
    assert done.returncode == 2
    assert "is a link" in done.stderr
    assert "does not follow links" in done.stderr


@pytest.mark.parametrize("place", ["openspec", "openspec/changes", "openspec/changes/add-auth"])
def test_openspecs_folders_are_no_different(scratch: Scratch, tmp_path: Path, place: str) -> None:
    folder = scratch.root / "openspec" / "changes" / "add-auth"
    folder.mkdir(parents=True)
    (folder / "proposal.md").write_text("# Add auth\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    lead_outside(scratch.root / place, outside)
    done = scratch.spool("ralph", "Go", "-c", "add-auth")
    assert (done.returncode, "is a link" in done.stderr) == (2, True)


def test_the_repository_itself_may_be_reached_through_a_link(scratch: Scratch, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(scratch.root)
    shell_agent(scratch, AGENT)
    assert scratch.ralph("Go", cwd=link).returncode == 0
    assert scratch.spool("run", CHANGE, "--status", "--change", CHANGE, cwd=link).returncode == 2
    assert scratch.ralph("--status", cwd=link).returncode == 0


def test_the_users_own_directories_may_be_links(scratch: Scratch, tmp_path: Path) -> None:
    for name in (".config", ".local"):
        (tmp_path / f"real{name}").mkdir()
        (scratch.home / name).symlink_to(tmp_path / f"real{name}")
    shell_agent(scratch, AGENT)
    done = scratch.ralph("Go")
    assert (done.returncode, "spool:" in done.stderr) == (0, False)
    assert CHANGE in scratch.spool("ps", "--all").stdout


def test_no_part_of_a_path_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "deep" / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "alias").symlink_to("deep/file")
    for path in (tmp_path / "link" / "deep" / "file", tmp_path / "real" / "alias", tmp_path / "link" / "new"):
        with pytest.raises(Linked):
            open_file(path, os.O_RDWR | os.O_CREAT)
        with pytest.raises(Linked):
            read_file(path)
    with pytest.raises(Linked):
        make_folder(tmp_path / "link" / "more")
    replace_file(tmp_path / "real" / "alias", b"new")
    assert (tmp_path / "real" / "deep" / "file").read_text() == "x"
    assert read_file(tmp_path / "real" / "alias") == b"new"
    assert sorted(os.listdir(tmp_path / "real")) == ["alias", "deep"]
