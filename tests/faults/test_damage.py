"""State that is damaged, newer, or names processes that are not ours: set aside or refused, and nobody is signalled."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from spool.domain.loop.summary import Runner
from spool.host.runner.identity import boot_id, is_alive, start_time
from tests.faults import invariants
from tests.support import Scratch
from tests.support.machine import PROMISE, runs, shell_agent

DAMAGES = {
    "empty": b"",
    "null": b"null",
    "list": b"[]",
    "object": b"{}",
    "number": b"7",
    "string": b'"state"',
    "nul bytes": b"\0" * 4_096,
    "not UTF-8": b'{"schema": 1, "change": "\xff\xfe"}',
    "schema only": b'{"schema": 1}',
    "schema a word": b'{"schema": "one"}',
    "deep": b'{"schema": 1, "x": ' + b"[" * 200_000,
    "huge number": b'{"schema": 1, "iteration": ' + b"9" * 5_000 + b"}",
}


@pytest.fixture
def used(scratch: Scratch) -> Scratch:
    """A project whose loop has run twice."""
    shell_agent(scratch, f'[ "$SPOOL_ITERATION" = 1 ] || echo "{PROMISE}"')
    assert scratch.ralph("Work").returncode == 0
    return scratch


def goes_on_beside(used: Scratch, damaged: bytes) -> None:
    """Check that damaged state is reported, kept for a person to look at, and does not turn back the numbers."""
    shown = used.ralph("--status")
    assert shown.returncode == 1
    assert "cannot be read" in shown.stderr
    assert "Traceback" not in shown.stderr
    assert (used.state / "state.json").read_bytes() == damaged, "looking must not touch it"
    shell_agent(used, f"echo '{PROMISE}'")
    done = used.ralph("Work")
    assert done.returncode == 0, done.stderr
    assert "kept as state.json.unreadable-1" in done.stdout
    assert (used.state / "state.json.unreadable-1").read_bytes() == damaged
    assert [record["iteration"] for record in used.history()] == [1, 2, 3]
    assert used.load_state()["iteration"] == 3


@pytest.mark.parametrize("damage", DAMAGES)
def test_state_that_cannot_be_read_is_set_aside_and_reported(used: Scratch, damage: str) -> None:
    (used.state / "state.json").write_bytes(DAMAGES[damage])
    goes_on_beside(used, DAMAGES[damage])


@pytest.mark.parametrize("cut", [1, 0.25, 0.5, 0.9, -3])
def test_truncated_state_is_set_aside_and_reported(used: Scratch, cut: float) -> None:
    path = used.state / "state.json"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(cut * len(whole)) if 0 < cut < 1 else int(cut)])
    goes_on_beside(used, path.read_bytes())


def test_trailing_bytes_are_damage_too(used: Scratch) -> None:
    path = used.state / "state.json"
    path.write_bytes(path.read_bytes() + b"}\n")
    goes_on_beside(used, path.read_bytes())


def test_an_iteration_that_only_damaged_state_knew_of_is_not_numbered_again(used: Scratch) -> None:
    """The runner died in iteration 3 and its state is damaged: 3 is in no history, but its log is there."""
    (used.state / "logs" / "0003.prompt.md").write_text("the prompt of iteration 3")
    (used.state / "logs" / "0003.out").write_text("the work of iteration 3")
    (used.state / "state.json").write_bytes(b"")
    assert used.ralph("Work").returncode == 0
    assert [record["iteration"] for record in used.history()] == [1, 2, 4]
    assert (used.state / "logs" / "0003.out").read_text() == "the work of iteration 3"


@pytest.mark.parametrize("command", [("Work",), ("--status",)])
def test_a_newer_schema_is_refused_and_left_alone(used: Scratch, command: tuple[str, ...]) -> None:
    path = used.state / "state.json"
    newer = json.dumps({**json.loads(path.read_bytes()), "schema": 999, "shape": "unknown"}).encode()
    path.write_bytes(newer)
    before = listing(used.state)
    done = used.ralph(*command)
    assert done.returncode == 1
    assert "newer Spool" in done.stderr
    assert listing(used.state) == before
    assert path.read_bytes() == newer


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("garbage", [b"{", b'{"iteration": 3, ', b"\0\0\0\0", b"null\n", b"[]\n[]\n", b"\xff\xfe\n"])
@pytest.mark.parametrize("name", ["history.jsonl", "journal.jsonl"])
def test_garbage_at_the_end_of_a_growing_file_costs_only_itself(used: Scratch, name: str, garbage: bytes) -> None:
    path = used.state / name
    before = path.read_bytes()
    with path.open("ab") as file:
        file.write(garbage)
    assert used.ralph("--status").returncode == 0
    shell_agent(used, f"echo '{PROMISE}'")
    done = used.ralph("Work")
    assert done.returncode == 0, done.stderr
    assert path.read_bytes().startswith(before + garbage)
    kept = [line for line in path.read_bytes()[len(before + garbage) :].split(b"\n") if line]
    assert all(isinstance(json.loads(line), dict) for line in kept)
    numbers = [record["iteration"] for record in parsed(used.state / "history.jsonl")]
    assert numbers == [1, 2, 3]


def parsed(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def test_a_directory_where_the_state_should_be_is_a_clear_error(used: Scratch) -> None:
    (used.state / "state.json").unlink()
    (used.state / "state.json").mkdir()
    done = used.ralph("Work")
    assert done.returncode == 1
    assert "state.json" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("pid", [-1, 0, 1, 2**22 + 1, 2**31 - 1, 2**63 - 1, -(2**63)])
def test_recorded_pids_that_mean_nobody_are_dead_and_nothing_is_signalled(used: Scratch, pid: int) -> None:
    pretend(used, pid=pid)
    shown = json.loads(used.ralph("--status", "--json").stdout)
    assert shown["runner_alive"] is False
    assert shown["status"] == "stopped"
    shell_agent(used, f"echo '{PROMISE}'")
    assert used.ralph("Work").returncode == 0


@pytest.mark.parametrize("pid", ["x", "", None, 1.5, [1]])
def test_a_recorded_pid_that_is_no_number_is_damage(used: Scratch, pid: object) -> None:
    pretend(used, pid=pid)
    goes_on_beside(used, (used.state / "state.json").read_bytes())


@pytest.mark.parametrize("reused", ["another start", "another boot", "no start"])
def test_a_reused_pid_is_not_the_runner_and_its_new_owner_is_left_alone(used: Scratch, reused: str) -> None:
    stranger = subprocess.Popen(["sleep", "1000"], env={"PATH": os.environ["PATH"]})
    try:
        started = start_time(stranger.pid)
        assert started is not None
        identity = {"pid": stranger.pid, "start_time": started, "boot_id": boot_id(), "host": os.uname().nodename}
        assert is_alive(Runner(**identity)), "the test's own identity must be right"  # type: ignore[arg-type]
        identity |= {
            "another start": {"start_time": str(int(started) + 1)},
            "another boot": {"boot_id": "00000000-0000-0000-0000-000000000000"},
            "no start": {"start_time": ""},
        }[reused]
        pretend(used, **identity)
        assert json.loads(used.ralph("--status", "--json").stdout)["runner_alive"] is False
        shell_agent(used, f"echo '{PROMISE}'")
        assert used.ralph("Work").returncode == 0
        assert runs(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()


def test_a_zombie_is_not_alive() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    try:
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert start_time(child) is None
    finally:
        os.waitpid(child, 0)


def pretend(used: Scratch, **identity: object) -> None:
    """Write state as a runner left it that died at work."""
    path = used.state / "state.json"
    state = json.loads(path.read_bytes())
    state["runner"] |= identity
    path.write_text(json.dumps(state | {"status": "running", "phase": "agent is working"}))


def test_a_lock_that_a_dead_runner_left_is_no_obstacle(used: Scratch) -> None:
    for lock in (used.root / ".git" / "spool" / "locks").iterdir():
        lock.write_bytes(b"{garbage")
    assert used.ralph("Work").returncode == 0


def test_a_single_file_that_an_agent_deletes_comes_back_with_all_it_held(used: Scratch) -> None:
    shell_agent(used, f'[ "$SPOOL_ITERATION" = 5 ] && echo "{PROMISE}"\nrm -f {used.state}/*.json*')
    done = used.ralph("Work")
    assert done.returncode == 0, done.stderr
    assert [record["iteration"] for record in used.history()] == [1, 2, 3, 4, 5]
    invariants.complete(used)


@pytest.mark.parametrize("field", ["base", "left"])
def test_a_forged_state_gives_git_no_options(scratch: Scratch, tmp_path: Path, field: str) -> None:
    """An agent can write the state, and `git diff-tree --output=FILE` writes a file."""
    written = tmp_path / "written"
    scratch.script(*([[{"write": "work.txt", "text": "work"}]] * 3))
    words = ("Work", "--harness", "scripted", "--verify", "true", "--max-iterations", "1")
    assert scratch.ralph(*words).returncode == 3
    state = json.loads((scratch.state / "state.json").read_text())
    assert state["memory"][field], "the run has left none, or the test shows nothing"
    state["memory"][field] = f"--output={written}"
    (scratch.state / "state.json").write_text(json.dumps(state))
    (scratch.root / "own.txt").write_text("a person's file")
    scratch.ralph(*words)
    assert not written.exists()
