"""Bad input gets one clear line on stderr, exit code 2 or 1, and nothing is written."""

from pathlib import Path

import pytest

from tests.support import CHANGE, Scratch

CASES: list[tuple[str, list[str], int, str]] = [
    ("unknown change", ["Go", "--change", "nope"], 2, "no such change: 'nope'"),
    ("parent directory", ["Go", "--change", ".."], 2, "is not a change id"),
    ("path", ["Go", "--change", "a/b"], 2, "is not a change id"),
    ("empty id", ["Go", "--change", ""], 2, "is not a change id"),
    ("newline", ["Go", "--change", "a\nb"], 2, "is not a change id"),
    ("option as id", ["Go", "--change=-rf"], 2, "is not a change id"),
    ("300 characters", ["Go", "--change", "x" * 300], 2, "is not a change id"),
    ("no prompt", ["--change", CHANGE], 2, "a prompt is required"),
    ("empty prompt", ["", "--change", CHANGE], 2, "a prompt is required"),
    ("blank prompt", [" \n\t", "--change", CHANGE], 2, "a prompt is required"),
    ("prompt twice", ["Go", "--prompt-file", "x", "--change", CHANGE], 2, "cannot be used together"),
    ("missing prompt file", ["--prompt-file", "missing.md", "--change", CHANGE], 2, "No such file"),
    ("prompt file a directory", ["--prompt-file", ".", "--change", CHANGE], 2, "Is a directory"),
    ("prompt file not UTF-8", ["--prompt-file", "latin1.md", "--change", CHANGE], 2, "is not UTF-8 text"),
    ("prompt file empty", ["--prompt-file", "empty.md", "--change", CHANGE], 2, "is empty"),
    ("limit 0", ["Go", "--max-iterations", "0", "--change", CHANGE], 2, "must be at least 1"),
    ("limit negative", ["Go", "--max-iterations", "-3", "--change", CHANGE], 2, "must be at least 1"),
    ("limit a word", ["Go", "--max-iterations", "many", "--change", CHANGE], 2, "not a valid integer"),
    (
        "minimum above maximum",
        ["Go", "--min-iterations", "9", "--max-iterations", "3", "--change", CHANGE],
        2,
        "is more",
    ),
    (
        "both limits",
        ["Go", "--max-iterations", "3", "--no-max-iterations", "--change", CHANGE],
        2,
        "cannot be used together",
    ),
    (
        "threshold negative",
        ["Go", "--error-threshold", "-1", "--change", CHANGE],
        2,
        "spool: --error-threshold cannot be negative\n",
    ),
    ("bad duration", ["Go", "--idle-timeout", "soon", "--change", CHANGE], 2, "not a duration"),
    ("empty promise", ["Go", "--completion-promise", "", "--change", CHANGE], 2, "cannot be empty"),
    ("unknown harness", ["Go", "--harness", "opencod", "--change", CHANGE], 2, "did you mean: opencode?"),
    ("command without argv", ["Go", "--harness", "command", "--change", CHANGE], 2, "has no program to run"),
    ("harness not installed", ["Go", "--harness", "claude", "--change", CHANGE], 2, "npm install -g"),
    ("wrong module", ["Go", "--module", "9", "--change", CHANGE], 2, "is not in module '9'"),
    ("module without changes", ["Go", "--module", "9"], 2, "no active change in module '9'"),
    (
        "status with a prompt",
        ["Go", "--status", "--change", CHANGE],
        2,
        "--status and the context options take no prompt",
    ),
    ("status and context", ["--status", "--add-context", "x", "--change", CHANGE], 2, "cannot be used together"),
    ("empty context", ["--add-context", " ", "--change", CHANGE], 2, "the note is empty"),
    ("unknown option", ["Go", "--yolol", "--change", CHANGE], 2, "No such option"),
]


@pytest.mark.parametrize(("words", "exit_code", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_bad_input(scratch: Scratch, words: list[str], exit_code: int, said: str) -> None:
    (scratch.root / "latin1.md").write_bytes(b"caf\xe9")
    (scratch.root / "empty.md").write_bytes(b"\n")
    scratch.env["PATH"] = f"{scratch.bin}:/usr/bin:/bin"
    scratch.agent("raise SystemExit('the agent must not start')")
    before = everything(scratch.root)
    done = scratch.spool("ralph", *words)
    assert done.returncode == exit_code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert everything(scratch.root) == before


def test_outside_a_project(scratch: Scratch) -> None:
    done = scratch.spool("ralph", "Go", "--change", "x", cwd=scratch.home)
    assert done.returncode == 2
    assert ".spool/changes/" in done.stderr


def test_a_state_directory_that_leads_elsewhere_is_refused(scratch: Scratch) -> None:
    elsewhere = scratch.home / "elsewhere"
    elsewhere.mkdir()
    (scratch.root / ".spool" / ".state").symlink_to(elsewhere)
    done = scratch.ralph("Go")
    assert done.returncode == 2
    assert "is a link" in done.stderr
    assert list(elsewhere.iterdir()) == []


def test_an_archived_change_is_not_active(scratch: Scratch) -> None:
    archive = scratch.root / ".spool" / "changes" / "archive" / "001-01_old"
    archive.mkdir(parents=True)
    (archive / "proposal.md").write_text("# Old\n")
    for query in ("001-01_old", "1-1", "old"):
        done = scratch.spool("ralph", "Go", "--change", query)
        assert done.returncode == 2
        assert "is archived" in done.stderr
        assert CHANGE in done.stderr


def test_a_change_without_a_proposal(scratch: Scratch) -> None:
    (scratch.change / "proposal.md").unlink()
    scratch.agent("")
    done = scratch.ralph("Go")
    assert done.returncode == 2
    assert "has no proposal.md" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("harness =", "cannot be read"),
        ("colour = 1", "unknown setting"),
        ("max_iterations = 'x'", "max_iterations is invalid"),
    ],
)
def test_a_damaged_settings_file_is_named(scratch: Scratch, text: str, said: str) -> None:
    (scratch.root / ".spool" / "config.toml").write_text(text)
    done = scratch.ralph("Go")
    assert done.returncode == 2
    assert said in done.stderr
    assert "config.toml" in done.stderr


def everything(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file() and ".git/" not in str(path)}
