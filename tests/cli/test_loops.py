"""The registry of loops on this machine: ps, stop, attach, logs and --detach."""

import json
import os
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for

WORKING: list[dict[str, Any]] = [{"say": "Working hard"}, {"sleep": 600}]
COMPLETE: dict[str, Any] = {"promise": "COMPLETE"}


@pytest.fixture
def loops(scratch: Scratch) -> Iterator[Scratch]:
    """A scratch project whose loops are all stopped in the end."""
    yield scratch
    scratch.spool("stop", "--all")


def ps(scratch: Scratch, *words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(scratch.spool("ps", "--json", *words).stdout)
    return rows


def detach(scratch: Scratch, *words: str) -> subprocess.CompletedProcess[str]:
    done = scratch.ralph("Go", "--harness", "scripted", "--detach", *words)
    assert done.returncode == 0, done.stderr
    return done


def working(scratch: Scratch) -> None:
    log = scratch.state / "logs" / "0001.out"
    wait_for(lambda: log.exists() and b"Working" in log.read_bytes())


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_ps_lists_a_loop_while_it_runs_and_with_all_afterwards(loops: Scratch) -> None:
    loops.script(WORKING)
    assert loops.spool("ps").stdout == "No loop is running.\n"
    process = loops.start("ralph", "Go", "-c", CHANGE, "--harness", "scripted", "--max-iterations", "7")
    working(loops)
    (row,) = ps(loops)
    assert (row["door"], row["project"], row["change"], row["pid"]) == ("ralph", "project", CHANGE, process.pid)
    assert (row["status"], row["run_iteration"], row["max_iterations"]) == ("running", 1, 7)
    assert "1/7" in loops.spool("ps").stdout
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=PATIENCE_S)
    assert ps(loops) == []
    (row,) = ps(loops, "--all")
    assert (row["status"], row["reason"]) == ("stopped", "stopped by SIGTERM")


def test_a_runner_that_was_killed_is_told_as_stopped(loops: Scratch) -> None:
    loops.script(WORKING)
    process = loops.start("ralph", "Go", "-c", CHANGE, "--harness", "scripted")
    working(loops)
    process.kill()
    process.wait()
    assert ps(loops) == []
    (row,) = ps(loops, "--all")
    assert row["status"] == "stopped"
    assert "its runner died" in row["reason"]
    assert "not running: stopped, its runner died" in loops.spool("stop", CHANGE).stdout


def test_a_runner_that_was_killed_is_told_as_it_was_after_the_next_run_too(loops: Scratch) -> None:
    loops.script(WORKING)
    process = loops.start("ralph", "Go", "-c", CHANGE, "--harness", "scripted")
    working(loops)
    process.kill()
    process.wait()
    before = ps(loops, "--all")
    loops.script([COMPLETE])
    assert loops.ralph("Go", "--harness", "scripted", "--fresh").returncode == 0
    killed, _ = ps(loops, "--all")
    assert (killed["status"], killed["reason"]) == ("stopped", "its runner died; a later run continued")
    assert (killed["iteration"], killed["age_s"]) == (1, before[0]["age_s"])
    assert killed["age_s"] > 0


def test_detach_runs_in_a_session_of_its_own_and_says_how_to_watch(loops: Scratch) -> None:
    loops.script(WORKING)
    done = detach(loops)
    (row,) = ps(loops)
    assert f"spool attach {row['id']}" in done.stdout
    assert os.getsid(row["pid"]) == row["pid"]
    working(loops)
    assert "iteration 1" in loops.spool("logs", row["id"]).stdout
    stopped = loops.spool("stop", row["id"])
    assert (stopped.returncode, stopped.stdout) == (0, f"Stopped {CHANGE} ({row['id']}) in project on main.\n")
    assert is_gone(row["pid"])
    again = loops.spool("stop", row["id"])
    assert again.returncode == 0
    assert "is not running: stopped" in again.stdout
    assert loops.load_state()["status"] == "stopped"


def test_stories_run_in_the_background_too(loops: Scratch) -> None:
    loops.script([{"tick": 2}, COMPLETE])
    done = loops.spool("run", CHANGE, "--harness", "scripted", "--detach")
    assert done.returncode == 0, done.stderr
    wait_for(lambda: not ps(loops))
    assert [(row["door"], row["status"]) for row in ps(loops, "--all")] == [("run", "done")]
    assert "is complete" in loops.spool("logs", CHANGE).stdout


def test_a_detached_loop_reads_its_prompt_from_standard_input(loops: Scratch) -> None:
    loops.script([COMPLETE])
    done = subprocess.run(
        loops.argv("ralph", "--prompt-file", "-", "-c", CHANGE, "--harness", "scripted", "--detach"),
        cwd=loops.root, env=loops.env, input="Do it well", capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    wait_for(lambda: not ps(loops))
    assert "Do it well" in loops.prompt(1)


def test_a_loop_that_cannot_start_in_the_background_says_why(loops: Scratch) -> None:
    loops.script(WORKING)
    detach(loops)
    second = loops.ralph("Go", "--harness", "scripted", "--detach")
    assert second.returncode == 1
    assert "did not start" in second.stderr
    assert f"a loop on '{CHANGE}' is already running" in second.stderr
    (first,) = ps(loops, "--all")
    assert f"spool attach {first['run_id'].rpartition('-')[2]}" in second.stderr


def test_a_start_that_fails_changes_nothing_that_is_said_of_the_running_loop(loops: Scratch) -> None:
    loops.script(WORKING)
    detach(loops)
    for words in (("run", CHANGE, "--detach"), ("run", CHANGE), ("ralph", "Go", "--change", CHANGE, "--detach")):
        assert loops.spool(*words, "--harness", "scripted").returncode == 1
    assert [row["status"] for row in ps(loops, "--all")] == ["running"]
    assert "still running" in loops.spool("report").stdout
    assert "running" in loops.spool("list").stdout
    for door in ("run", "ralph"):
        assert "alive, pid" in loops.spool(door, "--status", "--change", CHANGE).stdout


def test_attach_shows_the_run_from_its_start_and_returns_its_exit_code(loops: Scratch) -> None:
    loops.script([{"say": "First words"}, {"sleep": 1.5}], [COMPLETE])
    detach(loops)
    done = loops.spool("attach", CHANGE)
    assert done.returncode == 0, done.stderr
    assert "First words" in done.stdout
    assert "done: the agent kept its promise" in done.stdout


def test_attach_without_an_id_needs_a_running_loop_and_a_terminal(loops: Scratch) -> None:
    done = loops.spool("attach")
    assert (done.returncode, "no loop is running here" in done.stderr) == (2, True)
    assert "--json takes one loop" in loops.spool("attach", "--json").stderr


def test_leaving_attach_leaves_the_loop(loops: Scratch) -> None:
    loops.script(WORKING)
    detach(loops)
    watching = loops.start("attach", CHANGE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert watching.stdout is not None
    watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=PATIENCE_S)
    assert b"is still running" in said
    assert len(ps(loops)) == 1


def test_logs_follow_until_the_loop_ends(loops: Scratch) -> None:
    loops.script([{"say": "First words"}, {"sleep": 1}], [{"say": "Last words"}, COMPLETE])
    detach(loops)
    told = loops.spool("logs", "-f", CHANGE).stdout
    assert told.index("First words") < told.index("Last words") < told.index("done:")


def test_logs_of_a_loop_in_a_terminal_come_from_its_journal(loops: Scratch) -> None:
    loops.script([{"say": "First words"}, COMPLETE])
    loops.ralph("Go", "--harness", "scripted")
    loops.script([{"say": "Other words"}, COMPLETE])
    loops.ralph("Go", "--harness", "scripted")
    ids = [row["id"] for row in ps(loops, "--all")]
    assert "First words" in loops.spool("logs", ids[0]).stdout
    assert "First words" not in loops.spool("logs", ids[1]).stdout


def test_a_pid_that_belongs_to_another_is_never_signalled(loops: Scratch) -> None:
    loops.script([COMPLETE])
    loops.ralph("Go", "--harness", "scripted")
    (path,) = (loops.home / ".local/state/spool/loops").glob("*.json")
    entry = json.loads(path.read_text())
    entry |= {"ended_at": None, "status": "running"}
    with subprocess.Popen(["sleep", "60"]) as innocent:
        for pid in (innocent.pid, -1, 0, 1):
            entry["runner"]["pid"] = pid
            path.write_text(json.dumps(entry))
            assert "is not running" in loops.spool("stop", CHANGE).stdout
        assert innocent.poll() is None
        innocent.kill()


def test_what_cannot_be_read_is_passed_over(loops: Scratch) -> None:
    folder = loops.home / ".local/state/spool/loops"
    folder.mkdir(parents=True)
    for number, text in enumerate(["", "null", "[]", "{", '{"schema": 999}']):
        (folder / f"20260101T000000-00000{number}.json").write_text(text)
    assert ps(loops, "--all") == []


def test_only_this_user_may_read_the_registry(loops: Scratch) -> None:
    loops.script([COMPLETE])
    os.umask(0)
    try:
        loops.ralph("Go", "--harness", "scripted")
    finally:
        os.umask(0o022)
    folder = loops.home / ".local/state/spool/loops"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_registry_that_cannot_be_written_costs_a_warning(loops: Scratch) -> None:
    loops.script([COMPLETE])
    (loops.home / ".local").write_text("a file, not a folder")
    done = loops.ralph("Go", "--harness", "scripted")
    assert done.returncode == 0
    assert "this loop is not listed" in done.stdout


def test_the_agent_that_ignores_everything_is_gone_after_stop(loops: Scratch) -> None:
    loops.agent("import os, signal, time\n"
                "for number in (1, 2, 15):\n    signal.signal(number, signal.SIG_IGN)\n"
                "open(os.environ['HOME'] + '/pid', 'w').write(str(os.getpid()))\ntime.sleep(1000)")  # fmt: skip
    assert loops.ralph("Go", "--detach").returncode == 0
    pid_file = loops.home / "pid"
    wait_for(lambda: pid_file.exists() and pid_file.read_text() != "")
    began = time.monotonic()
    assert loops.spool("stop", "--all").returncode == 0
    assert time.monotonic() - began < 10
    assert is_gone(int(pid_file.read_text()))


@pytest.mark.parametrize("door", ["ralph", "run"])
def test_a_git_clean_between_two_runs_loses_neither_status_nor_report(scratch: Scratch, door: str) -> None:
    scratch.script([{"say": "Hm"}])
    if door == "ralph":
        scratch.ralph("Go", "--harness", "scripted", "--max-iterations", "1")
    else:
        scratch.run("--max-retries", "0")
    named = ["--change", CHANGE] if door == "ralph" else [CHANGE]
    status, report = scratch.spool(door, *named, "--status").stdout, scratch.spool("report", CHANGE).stdout
    for words, before in (([door, *named, "--status"], status), (["report", CHANGE], report)):
        scratch.git("clean", "-fdxq")
        assert not (scratch.root / ".spool" / ".state" / door).exists()
        assert scratch.spool(*words).stdout == before
