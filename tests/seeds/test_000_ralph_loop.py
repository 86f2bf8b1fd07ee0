"""Specification 000, the ralph loop: one test per scenario, named after it."""

import os
import pty
import re
import select
import subprocess
import time

import pytest

from tests.support import CHANGE, PATIENCE_S, PROPOSAL, Scratch

RECORDING_AGENT = """
import json, os, sys
with open(os.environ["RECORD"], "a") as file:
    file.write(json.dumps({"argv": sys.argv[1:], "stdin": sys.stdin.read()}) + "\\n")
print("Working.")
print("<promise>COMPLETE</promise>")
"""


@pytest.fixture
def recorded(scratch: Scratch) -> Scratch:
    scratch.env["RECORD"] = str(scratch.home / "record.jsonl")
    scratch.agent(RECORDING_AGENT)
    return scratch


def calls(scratch: Scratch) -> list[dict[str, object]]:
    import json

    with open(scratch.env["RECORD"]) as file:
        return [json.loads(line) for line in file]


# Requirement: Ralph loop command


def test_run_against_a_change_proposal(recorded: Scratch) -> None:
    done = recorded.spool("ralph", "Implement the change", "--change", CHANGE)
    assert done.returncode == 0, done.stderr
    assert len(calls(recorded)) == 1
    stdin = str(calls(recorded)[0]["stdin"])
    assert PROPOSAL.strip() in stdin
    assert "Implement the change" in stdin


def test_alias_command(recorded: Scratch) -> None:
    as_loop = recorded.spool("loop", "Implement the change", "--change", CHANGE)
    as_ralph = recorded.spool("ralph", "Implement the change", "--change", CHANGE, "--fresh")
    assert (as_loop.returncode, as_ralph.returncode) == (0, 0)
    first, second = calls(recorded)
    assert first == second

    def timeless(text: str) -> str:
        return re.sub(r"\d\d:\d\d:\d\d", "00:00:00", re.sub(r"\d+\.\ds", "0.0s", text))

    assert timeless(as_loop.stdout) == timeless(as_ralph.stdout)


# Requirement: Change/module targeting defaults


def test_resolve_module_from_change(recorded: Scratch) -> None:
    module = recorded.root / ".spool" / "modules" / "002_ralph"
    module.mkdir(parents=True)
    (module / "module.md").write_text("All about loops.")
    assert recorded.ralph("Go").returncode == 0
    assert recorded.load_state()["module"] == "002"
    assert "All about loops." in recorded.prompt(1)


def test_interactive_selection_when_omitted(recorded: Scratch) -> None:
    other = recorded.root / ".spool" / "changes" / "003-01_other"
    other.mkdir()
    (other / "proposal.md").write_text("# Other\n")
    screen, exit_code = on_a_terminal(recorded, ["ralph", "Go"], answers=[(b"Which change", b"\x1b[B\r")])
    assert exit_code == 0, screen
    assert CHANGE in screen
    assert "003-01_other" in screen
    assert (recorded.root / ".spool/.state/ralph/003-01_other/history.jsonl").exists()


@pytest.mark.parametrize("words", [[], ["--no-interactive"]])
def test_non_interactive_error_when_omitted(recorded: Scratch, words: list[str]) -> None:
    if words:
        screen, exit_code = on_a_terminal(recorded, ["ralph", "Go", *words], answers=[])
    else:
        done = recorded.spool("ralph", "Go")
        screen, exit_code = done.stderr, done.returncode
        assert done.stdout == ""
    assert exit_code == 2
    assert "--change" in screen
    assert CHANGE in screen
    assert not (recorded.root / ".spool" / ".state").exists()


# Requirement: Harness selection and model


def test_use_opencode_harness(recorded: Scratch) -> None:
    assert recorded.ralph("Go", "--harness", "opencode").returncode == 0
    argv = calls(recorded)[0]["argv"]
    assert isinstance(argv, list)
    assert argv[0] == "run"


def test_pass_model_to_harness(recorded: Scratch) -> None:
    assert recorded.ralph("Go", "--model", "anthropic/claude-sonnet").returncode == 0
    argv = calls(recorded)[0]["argv"]
    assert isinstance(argv, list)
    assert argv[argv.index("-m") + 1] == "anthropic/claude-sonnet"


# Requirement: Loop control and completion promise


def test_completion_promise_ends_the_loop(scratch: Scratch) -> None:
    scratch.agent(
        "import os\n"
        "print('Still working.')\n"
        "if os.environ['SPOOL_ITERATION'] == '3':\n"
        "    print('<promise>COMPLETE</promise>')\n"
    )
    done = scratch.ralph("Go", "--max-iterations", "10")
    assert done.returncode == 0
    assert [record["completion_found"] for record in scratch.history()] == [False, False, True]
    assert scratch.load_state()["status"] == "done"


def test_minimum_iterations(recorded: Scratch) -> None:
    assert recorded.ralph("Go", "--min-iterations", "3").returncode == 0
    assert [record["completion_found"] for record in recorded.history()] == [True, True, True]


# Requirement: Per-change state persistence


def test_state_stored_per_change(recorded: Scratch) -> None:
    assert recorded.ralph("Go").returncode == 0
    folder = recorded.root / ".spool" / ".state" / "ralph" / CHANGE
    assert {"state.json", "history.jsonl", "journal.jsonl", "logs"} <= {path.name for path in folder.iterdir()}
    assert ".spool/.state" not in recorded.git("status", "--short", "--untracked-files=all")


def test_status_command(recorded: Scratch) -> None:
    recorded.ralph("Go", "--min-iterations", "2")
    done = recorded.spool("ralph", "--status", "--change", CHANGE)
    assert done.returncode == 0
    assert re.search(r"^Iteration 2 \(2 in this run", done.stdout, re.MULTILINE)
    assert len(re.findall(r"^\d+ +completed", done.stdout, re.MULTILINE)) == 2


# Requirement: Safety and permissions


def test_allow_all_flag_enables_auto_approval(recorded: Scratch) -> None:
    recorded.ralph("Go", "--allow-all")
    recorded.ralph("Go", "--fresh")
    with_flag, without = (call["argv"] for call in calls(recorded))
    assert isinstance(with_flag, list)
    assert isinstance(without, list)
    assert "--auto" in with_flag
    assert "--auto" not in without


@pytest.mark.parametrize("alias", ["--yolo", "--dangerously-allow-all"])
def test_allow_all_aliases(recorded: Scratch, alias: str) -> None:
    recorded.ralph("Go", "--allow-all")
    recorded.ralph("Go", alias, "--fresh")
    assert calls(recorded)[0] == calls(recorded)[1]


def on_a_terminal(scratch: Scratch, words: list[str], answers: list[tuple[bytes, bytes]]) -> tuple[str, int]:
    """Run the command on a real pseudo-terminal, type each answer once its question shows, and return the screen."""
    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        scratch.argv(*words), cwd=scratch.root, env=scratch.env, stdin=secondary, stdout=secondary, stderr=secondary
    )
    os.close(secondary)
    screen, pending, deadline = b"", list(answers), time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if not select.select([primary], [], [], 0.1)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            screen += os.read(primary, 65_536)
        except OSError:  # the other side is closed
            break
        if b"\x1b[6n" in screen:  # a terminal answers where its cursor is
            screen = screen.replace(b"\x1b[6n", b"")
            os.write(primary, b"\x1b[1;1R")
        if pending and pending[0][0] in screen:
            os.write(primary, pending.pop(0)[1])
    os.close(primary)
    return screen.decode("utf-8", "replace"), process.wait(timeout=PATIENCE_S)
