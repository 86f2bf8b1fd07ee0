"""What people and repositories can put in our way before a loop begins: refused before any file is touched."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from spool.domain.change.change import resolve
from spool.errors import UsageError
from tests.support import CHANGE, Scratch
from tests.support.machine import PROMISE, Warm, fake_agent, shell_agent

BAD_IDS = [
    "..",
    ".",
    "a/b",
    "/etc",
    "../../etc",
    "",
    " ",
    "new\nline",
    "-rf",
    "--",
    "x" * 300,
    "~",
    "*",
    "$(touch X)",
    "é",
]
COMMANDS = [("Work",), ("--status",), ("--add-context", "note"), ("--clear-context",)]


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return every path below a folder with its mode, its time of change and its content."""
    found = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
        found[str(path)] = (info.st_mode, info.st_mtime_ns, content)
    return found


@pytest.mark.parametrize("command", COMMANDS, ids=["run", "status", "add", "clear"])
def test_a_bad_change_id_is_refused_before_any_file_is_touched(
    scratch: Scratch, warm: Warm, command: tuple[str, ...]
) -> None:
    shell_agent(scratch, "touch ran")
    before = snapshot(scratch.root)
    for bad in BAD_IDS:
        assert warm.wait(warm.ralph(*command, change=bad)) == 2, (bad, warm.output(), warm.errors())
        assert "Traceback" not in warm.errors()
        assert len(warm.errors().splitlines()) <= 3, warm.errors()
    assert snapshot(scratch.root) == before


def test_a_nul_in_a_change_id_is_refused() -> None:
    """No command line can hold one, but a picker or another program could."""
    with pytest.raises(UsageError):
        resolve("a\0b", ["a"])


@pytest.mark.parametrize("command", COMMANDS, ids=["run", "status", "add", "clear"])
@pytest.mark.parametrize("link", [".spool", ".spool/.state"])
def test_state_behind_a_link_is_refused_before_any_file_is_touched(
    scratch: Scratch, tmp_path: Path, link: str, command: tuple[str, ...]
) -> None:
    shell_agent(scratch, "touch ran")
    elsewhere = tmp_path / "elsewhere"
    if link == ".spool":
        (scratch.root / ".spool").rename(elsewhere)
    else:
        elsewhere.mkdir()
    (scratch.root / link).symlink_to(elsewhere)
    before = snapshot(scratch.root), snapshot(elsewhere)
    done = scratch.ralph(*command)
    assert done.returncode == 2, done.stdout
    assert "is a link" in done.stderr
    assert (snapshot(scratch.root), snapshot(elsewhere)) == before


@pytest.mark.parametrize("link", ["ralph", f"ralph/{CHANGE}", f"ralph/{CHANGE}/logs"])
def test_a_folder_of_the_state_that_is_a_link_is_refused(scratch: Scratch, tmp_path: Path, link: str) -> None:
    """A repository can bring such a link along; what we write must not land where it leads."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = scratch.root / ".spool" / ".state" / link
    path.parent.mkdir(parents=True)
    path.symlink_to(elsewhere)
    shell_agent(scratch, f"echo '{PROMISE}'")
    done = scratch.ralph("Work")
    assert done.returncode in (1, 2), done.stdout
    assert "link" in done.stderr
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("journal.jsonl", ("Work",)),
        ("history.jsonl", ("Work",)),
        ("logs/0001.out", ("Work",)),
        ("logs/0001.prompt.md", ("Work",)),
        ("context.md", ("--add-context", "note")),
        ("context.md", ("--clear-context",)),
    ],
)
def test_a_file_of_the_state_that_is_a_link_is_not_written_through(
    scratch: Scratch, tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    path = scratch.state / name
    path.parent.mkdir(parents=True)
    path.symlink_to(precious)
    shell_agent(scratch, f"echo '{PROMISE}'")
    done = scratch.ralph(*command)
    assert "Traceback" not in done.stderr
    assert precious.read_text() == "precious"
    if name != "logs/0001.prompt.md":  # that one tells of an iteration 1, and so the next one is 2
        assert done.returncode == 1, done.stdout


def test_with_no_umask_at_all_everything_is_for_this_user_only(scratch: Scratch) -> None:
    fake_agent(scratch, "say(PROMISE if iteration != 1 else '')")
    assert scratch.ralph("--add-context", "note", umask=0).returncode == 0
    assert scratch.ralph("Work", umask=0).returncode == 0
    (scratch.state / "state.json").write_bytes(b"damaged")
    assert scratch.ralph("Work", umask=0).returncode == 0
    assert scratch.ralph("Work", "--fresh", umask=0).returncode == 0
    state = scratch.root / ".spool" / ".state"
    paths = [state, *state.rglob("*")]
    assert len(paths) > 10
    for path in paths:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), f"{path} is {mode:o}"
    kept = scratch.root / ".git" / "spool"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    for path in (*kept.glob("locks/*"), *kept.glob("state/*/*")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.parametrize("kind", ["missing", "a directory", "empty", "not UTF-8", "too large"])
def test_a_prompt_file_that_is_no_prompt_is_refused_before_any_file_is_touched(
    scratch: Scratch, tmp_path: Path, kind: str
) -> None:
    shell_agent(scratch, "touch ran")
    path = tmp_path / "prompt"
    match kind:
        case "a directory":
            path.mkdir()
        case "empty":
            path.write_text(" \n\t\n")
        case "not UTF-8":
            path.write_bytes(b"\xff\xfe\x00")
        case "too large":
            with path.open("wb") as file:
                file.truncate(17 << 20)
    before = snapshot(scratch.root)
    done = scratch.ralph("--prompt-file", str(path))
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert snapshot(scratch.root) == before


def test_a_change_whose_files_are_no_files_is_an_error_and_no_hang(scratch: Scratch) -> None:
    (scratch.change / "tasks.md").unlink()
    os.mkfifo(scratch.change / "tasks.md")
    shell_agent(scratch, "touch ran")
    done = scratch.ralph("Work")
    assert done.returncode == 2
    assert "is not a file" in done.stderr
    assert not (scratch.root / "ran").exists()
