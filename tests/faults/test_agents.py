"""Agents that behave badly: the iteration ends when it must, as what it was, and nobody is left."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.faults import invariants
from tests.support import PATIENCE_S, Scratch, wait_for
from tests.support.machine import (
    PROMISE,
    agents,
    fake_agent,
    release,
    running,
    runs,
    shell_agent,
    told,
)


def outcomes(scratch: Scratch) -> list[str]:
    return [record["outcome"] for record in scratch.history()]


def test_an_agent_that_ignores_every_request_meets_the_whole_ladder(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: say(f"not {number}\\n"))
tell("ready")
while True:
    time.sleep(1)
""",
    )
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        runner.terminate()
        assert runner.wait(30) == 130
        assert not agents(scratch)
    assert (scratch.state / "logs" / "0001.out").read_text() == "not 2\nnot 15\n"
    assert scratch.history()[0]["exit_code"] == -9
    assert outcomes(scratch) == ["interrupted"]


def test_a_child_that_forks_twice_into_a_session_of_its_own_ends_with_the_iteration(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        tell("daemon", os.getpid())
        time.sleep(1000)
    os._exit(0)
wait_for("daemon")
say(PROMISE)
""",
    )
    assert scratch.ralph("Work").returncode == 0
    assert not runs(int(told(scratch, "daemon")))


def test_a_child_that_forks_on_and_on_does_not_get_away(scratch: Scratch) -> None:
    """Each generation lives for 20 ms, in a session of its own, and takes no SIGTERM."""
    fake_agent(
        scratch,
        """
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell("first")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(0.02)
    os._exit(0)
wait_for("first")
say(PROMISE)
""",
    )
    done = scratch.ralph("Work")
    assert done.returncode == 0, done.stderr
    assert not agents(scratch)


def test_an_agent_that_exits_while_its_child_sleeps_and_holds_its_files_ends_its_iteration(scratch: Scratch) -> None:
    fake_agent(scratch, "subprocess.Popen(['sleep', '1000'])\nsay(PROMISE)")
    begun = time.monotonic()
    assert scratch.ralph("Work").returncode == 0
    assert time.monotonic() - begun < 30
    assert scratch.history()[0]["duration_s"] < 10


def test_an_agent_that_promises_and_never_exits_is_complete_and_noted(scratch: Scratch) -> None:
    fake_agent(scratch, "say('done\\n' + PROMISE)\ntime.sleep(1000)")  # without a newline, too
    done = scratch.ralph("Work", env={"SPOOL_PROMISE_GRACE": "1"})
    assert done.returncode == 0, done.stderr
    [record] = scratch.history()
    assert record["outcome"] == "completed"
    assert "did not exit" in record["note"]


def test_a_silent_agent_meets_the_idle_timeout(scratch: Scratch) -> None:
    fake_agent(scratch, "time.sleep(1000)")
    done = scratch.ralph("Work", "--idle-timeout", "1", "--max-iterations", "1")
    assert done.returncode == 3
    assert outcomes(scratch) == ["idle"]


@pytest.mark.long
def test_a_dripping_agent_is_not_idle_but_meets_the_wall_timeout(scratch: Scratch) -> None:
    shell_agent(scratch, "while :; do printf .; sleep 0.1; done")
    done = scratch.ralph("Work", "--idle-timeout", "5", "--iteration-timeout", "10", "--max-iterations", "1")
    assert done.returncode == 3
    assert outcomes(scratch) == ["timeout"]


@pytest.mark.long
def test_an_agent_that_drips_on_stderr_only_is_not_idle(scratch: Scratch) -> None:
    shell_agent(scratch, "while :; do printf . >&2; sleep 0.1; done")
    done = scratch.ralph("Work", "--idle-timeout", "5", "--iteration-timeout", "10", "--max-iterations", "1")
    assert done.returncode == 3
    assert outcomes(scratch) == ["timeout"]


def test_an_agent_that_reads_standard_input_finds_its_end(scratch: Scratch) -> None:
    fake_agent(scratch, "text = sys.stdin.read()\nsay(repr(sys.stdin.read()) + '\\n' + PROMISE)")
    assert scratch.ralph("Work").returncode == 0


@pytest.mark.parametrize("code", [1, 127, 137, 143])
def test_a_failing_exit_is_recorded_and_the_loop_goes_on(scratch: Scratch, code: int) -> None:
    shell_agent(scratch, f'[ "$SPOOL_ITERATION" = 1 ] && exit {code}\necho "{PROMISE}"')
    assert scratch.ralph("Work").returncode == 0
    first, second = scratch.history()
    assert (first["outcome"], first["exit_code"]) == ("harness error", code)
    assert second["outcome"] == "completed"


@pytest.mark.parametrize("code", [1, 127, 137, 143])
def test_a_failing_exit_ends_the_loop_with_fail_fast(scratch: Scratch, code: int) -> None:
    shell_agent(scratch, f'echo "{PROMISE}"; exit {code}')
    done = scratch.ralph("Work", "--fail-fast")
    assert done.returncode == 1
    assert [record["exit_code"] for record in scratch.history()] == [code]
    assert scratch.load_state()["status"] == "stuck"


def test_an_agent_that_a_signal_ends_is_recorded_with_the_signal(scratch: Scratch) -> None:
    shell_agent(scratch, "kill -KILL $$")
    assert scratch.ralph("Work", "--fail-fast").returncode == 1
    [record] = scratch.history()
    assert record["exit_code"] == -9
    assert "SIGKILL" in record["reason"]


def test_an_agent_that_fails_at_once_for_ever_meets_back_off_and_then_an_end(scratch: Scratch) -> None:
    shell_agent(scratch, "exit 1")
    done = scratch.ralph("Work", "--no-max-iterations", env={"SPOOL_ERROR_PAUSE": "0.01"})
    assert done.returncode == 4
    pauses = [event["seconds"] for event in scratch.journal() if event["type"] == "Waiting"]
    assert pauses == [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64]
    assert len(scratch.history()) == 10
    assert scratch.load_state()["status"] == "stuck"


@pytest.mark.parametrize("broken", ["missing", "not executable", "a directory"])
def test_a_harness_that_is_not_there_is_an_error_before_anything_is_written(scratch: Scratch, broken: str) -> None:
    path = scratch.bin / "opencode"
    if broken == "not executable":
        path.write_text("#!/bin/sh\n")
        path.chmod(0o644)
    elif broken == "a directory":
        path.mkdir()
    done = scratch.ralph("Work", env={"PATH": f"{scratch.bin}:/usr/bin:/bin"})
    assert done.returncode == 2
    assert done.stderr.startswith("spool: opencode is not installed")
    assert not (scratch.root / ".spool" / ".state").exists()


def test_a_harness_that_cannot_be_executed_after_all_ends_the_run_with_a_clear_error(scratch: Scratch) -> None:
    path = scratch.bin / "opencode"
    path.write_text("#!/nowhere/interpreter\n")
    path.chmod(0o755)
    done = scratch.ralph("Work")
    assert done.returncode == 1
    assert "cannot start opencode" in done.stderr
    invariants.complete(scratch)
    assert scratch.load_state()["status"] == "stopped"
    assert outcomes(scratch) == ["interrupted"]


def test_a_harness_that_vanishes_while_the_loop_runs_ends_the_run_with_a_clear_error(scratch: Scratch) -> None:
    shell_agent(scratch, f"rm {scratch.bin}/opencode")
    done = scratch.ralph("Work", env={"PATH": f"{scratch.bin}:/usr/bin:/bin"})
    assert done.returncode == 1
    assert "cannot start opencode" in done.stderr
    assert outcomes(scratch) == ["no promise", "interrupted"]
    invariants.complete(scratch)


def test_the_agent_is_told_its_run_and_has_no_way_to_the_terminal(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError as error:
    tell("tty", error.strerror)
tell("run", os.environ["SPOOL_RUN_ID"])
tell("descriptors", " ".join(sorted(os.listdir("/proc/self/fd"))[:3]) + f" of {len(os.listdir('/proc/self/fd')) - 1}")
say(PROMISE)
""",
    )
    assert scratch.ralph("Work").returncode == 0
    assert told(scratch, "tty")
    assert told(scratch, "run") == scratch.history()[0]["run_id"]
    assert told(scratch, "descriptors") == "0 1 2 of 3"


def test_signals_that_spool_ignores_are_back_to_normal_for_the_agent(scratch: Scratch) -> None:
    fake_agent(
        scratch,
        """
# Python itself ignores SIGPIPE and SIGXFSZ, hence the shell.
tell("ignored", subprocess.check_output(["sh", "-c", "grep SigIgn /proc/self/status"], text=True))
say(PROMISE)
""",
    )
    with running(scratch, "Work", preexec_fn=_ignore_hangup) as runner:
        assert runner.wait(PATIENCE_S) == 0
    standard = (1 << 31) - 1  # the C library keeps signal 32 for itself, and nobody can reset it
    assert int(told(scratch, "ignored").split()[1], 16) & standard == 0


def _ignore_hangup() -> None:
    import signal

    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_context_added_while_an_iteration_runs_is_whole_in_the_next_prompt(scratch: Scratch) -> None:
    fake_agent(scratch, "tell('ready')\nif iteration == 1:\n    wait_for('go')\nelse:\n    say(PROMISE)")
    notes = [f"note {number}: " + "x" * 5_000 for number in range(5)]
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        for note in notes:
            assert scratch.ralph("--add-context", note).returncode == 0
        release(scratch, "go")
        assert runner.wait(PATIENCE_S) == 0
    assert not any(note in scratch.prompt(1) for note in notes)
    assert all(note in scratch.prompt(2) for note in notes)


def test_a_prompt_of_five_megabytes_works_and_is_in_no_command_line(scratch: Scratch) -> None:
    marker = "needle-in-the-prompt"
    prompt = scratch.home / "prompt.md"
    prompt.write_text((marker + " and a lot of hay\n") * 140_000)
    assert prompt.stat().st_size > 5 << 20
    fake_agent(
        scratch,
        f"""
text = sys.stdin.read()
count = text.count("{marker}")
found = []
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        if b"{marker}" in path.read_bytes():
            found.append(path.parent.name)
    except OSError:
        pass
tell("count", count)
tell("found", found)
say(PROMISE)
""",
    )
    assert scratch.ralph("--prompt-file", str(prompt)).returncode == 0
    assert told(scratch, "count") == "140000"
    assert told(scratch, "found") == "[]"


def test_a_stop_is_obeyed_while_an_agent_prints_faster_than_can_be_read(scratch: Scratch) -> None:
    fake_agent(scratch, "tell('ready')\nfor _ in range(1 << 13):\n    say('y' * 65536)\ntime.sleep(1000)")
    log = scratch.state / "logs/0001.out"
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        wait_for(lambda: log.stat().st_size == 1 << 29, "half a gigabyte of output")
        read = (scratch.state / "journal.jsonl").stat().st_size
        runner.terminate()
        assert runner.wait(60) == 130
    # A promise would not count any more, so that what is still unread need not be.
    assert (scratch.state / "journal.jsonl").stat().st_size < max(1 << 28, 2 * read)
    for path in (log, scratch.state / "journal.jsonl"):
        os.truncate(path, 0)  # they are large, and pytest keeps its folders


def test_an_agent_with_a_bad_environment_is_no_problem_of_ours(scratch: Scratch) -> None:
    shell_agent(scratch, f'echo "{PROMISE}"')
    odd = {os.fsdecode(b"ODD_\xff"): os.fsdecode(b"\xfe\xff")}
    assert scratch.ralph("Work", env=odd).returncode == 0
    assert json.loads(scratch.ralph("--status", "--json", env=odd).stdout)["status"] == "done"
