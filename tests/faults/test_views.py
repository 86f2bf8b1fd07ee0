"""Readers of our output that stop, vanish or never were: the loop goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from tests.faults import invariants
from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for
from tests.support.machine import fake_agent, release, running, shell_agent, told

MUCH = "for number in range(400):\n    say('x' * 1_000 + '\\n')\n"
"""More than a pipe holds, in every iteration."""


def ended(scratch: Scratch) -> bool:
    path = scratch.state / "state.json"
    return path.exists() and json.loads(path.read_text())["phase"] == "ended"


@pytest.mark.parametrize("view", [(), ("--json",), ("--no-stream",)])
def test_the_loop_goes_on_when_its_reader_is_gone(scratch: Scratch, view: tuple[str, ...]) -> None:
    fake_agent(scratch, f"tell('ready')\nwait_for('gone')\n{MUCH}\nif iteration == 3:\n    say(PROMISE)")
    with running(scratch, "Work", *view, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        assert runner.stderr is not None
        told(scratch, "ready")
        runner.stdout.close()
        release(scratch, "gone")
        errors = runner.stderr.read()
        assert runner.wait(PATIENCE_S) == 0
    assert b"spool:" not in errors  # no complaint; the next command stands there
    assert [record["outcome"] for record in scratch.history()] == ["no promise", "no promise", "completed"]
    invariants.complete(scratch)


@pytest.mark.parametrize("view", [(), ("--json",)])
def test_the_loop_goes_on_when_its_reader_is_stopped(scratch: Scratch, view: tuple[str, ...]) -> None:
    fake_agent(scratch, f"tell('ready')\nwait_for('stopped')\n{MUCH}\nif iteration == 3:\n    say(PROMISE)")
    kept = scratch.home / "kept"
    reader = subprocess.Popen(
        ["sh", "-c", f"exec cat > {kept}"], stdin=subprocess.PIPE, env={"PATH": os.environ["PATH"]}
    )
    assert reader.stdin is not None
    try:
        with running(scratch, "Work", *view, stdout=reader.stdin) as runner:
            reader.stdin.close()
            told(scratch, "ready")
            reader.send_signal(signal.SIGSTOP)
            release(scratch, "stopped")
            wait_for(lambda: ended(scratch), "the loop to end, though nobody reads")
            assert scratch.load_state()["status"] == "done"
            # What was asked for is still to be shown, but nobody else has to wait for that.
            shell_agent(scratch, "echo '<promise>COMPLETE</promise>'")
            again = scratch.ralph("Work")
            assert again.returncode == 0, again.stderr
            reader.send_signal(signal.SIGCONT)
            assert runner.wait(PATIENCE_S) == 0
        assert reader.wait(PATIENCE_S) == 0
        shown = kept.read_text()
        assert ("RunEnded" if view else "done: the agent kept its promise") in shown.splitlines()[-1]
    finally:
        reader.send_signal(signal.SIGCONT)
        reader.kill()
        reader.wait()


@pytest.mark.parametrize("view", [(), ("--json",)])
def test_a_runner_whose_reader_never_reads_again_can_be_stopped(scratch: Scratch, view: tuple[str, ...]) -> None:
    fake_agent(scratch, f"tell('ready')\n{MUCH}\nwait_for('never')")
    reading, writing = os.pipe()
    try:
        with running(scratch, "Work", *view, stdout=writing, stderr=subprocess.PIPE) as runner:
            assert runner.stderr is not None
            told(scratch, "ready")
            for _ in range(20):  # a person who presses Ctrl-C until it helps
                runner.send_signal(signal.SIGINT)
                try:
                    runner.wait(0.5)
                    break
                except subprocess.TimeoutExpired:
                    continue
            assert runner.wait(60) == 130
            errors = runner.stderr.read()
    finally:
        os.close(reading)
        os.close(writing)
    assert b"Fatal" not in errors
    assert b"Traceback" not in errors
    assert scratch.load_state()["status"] == "stopped"
    invariants.complete(scratch)


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
def test_closed_standard_streams_harm_neither_loop_nor_files(scratch: Scratch, closed: tuple[int, ...]) -> None:
    shell_agent(scratch, "echo at work; echo complaint >&2; echo '<promise>COMPLETE</promise>'")
    command = " ".join(f"{number}>&-" for number in closed)
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {command}', "sh", *scratch.argv("ralph", "Work", "--change", CHANGE)],
        cwd=scratch.root, env=scratch.env, stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S, check=False, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (scratch.state / "logs/0001.out").read_bytes() == b"at work\n<promise>COMPLETE</promise>\n"
    invariants.complete(scratch)
    assert all(isinstance(json.loads(line), dict) for line in (scratch.state / "journal.jsonl").open())


def test_a_full_disk_behind_standard_output_ends_the_view_not_the_loop(scratch: Scratch) -> None:
    shell_agent(scratch, '[ "$SPOOL_ITERATION" = 3 ] && echo "<promise>COMPLETE</promise>"; echo at work')
    with open("/dev/full", "wb") as full, running(scratch, "Work", stdout=full, stderr=subprocess.PIPE) as runner:
        assert runner.stderr is not None
        errors = runner.stderr.read()
        assert runner.wait(PATIENCE_S) == 0, errors
    assert b"cannot write output" in errors
    assert len(scratch.history()) == 3
