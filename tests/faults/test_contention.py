"""Many at once: readers against a spinning writer, and two starts of which one wins."""

from __future__ import annotations

import json
import signal
import subprocess
import threading

import pytest

from tests.faults import invariants
from tests.support import CHANGE, PATIENCE_S, Scratch, wait_for
from tests.support.machine import PROMISE, Warm, end, fake_agent, release, running, shell_agent, told
from tests.support.scale import trials


def test_readers_of_the_status_never_see_half_of_it(scratch: Scratch, warm: Warm) -> None:
    """200 readers, some at a time, while the loop writes as fast as it can."""
    shell_agent(scratch, "echo at work")
    writer = warm.ralph("Work", "--no-max-iterations", "--stall", "0", "--no-stream", name="writer")
    wait_for((scratch.state / "state.json").exists, "the first state")
    seen = set()
    for batch in range(20):
        readers = {warm.ralph("--status", "--json", name=f"reader{n}"): f"reader{n}" for n in range(10)}
        for reader, name in readers.items():
            assert warm.wait(reader) == 0, warm.errors(name)
            told = json.loads(warm.output(name))
            assert told["state"]["change"] == CHANGE
            assert told["runner_alive"] is True, batch
            numbers = [record["iteration"] for record in told["recent"]]
            assert numbers == sorted(set(numbers))
            seen.add(told["state"]["iteration"])
    assert not warm.ended(writer), warm.errors("writer")
    end(writer, signal.SIGTERM)
    assert warm.wait(writer) == 130
    assert len(seen) > 5, "the writer did not spin"
    invariants.complete(scratch)


def test_readers_of_the_state_file_never_see_it_empty(scratch: Scratch, warm: Warm) -> None:
    """The same without a process for each reader, which makes for far more reads."""
    shell_agent(scratch, "echo at work")
    writer = warm.ralph("Work", "--no-max-iterations", "--stall", "0", "--no-stream", name="writer")
    wait_for((scratch.state / "state.json").exists, "the first state")
    failures: list[str] = []

    def read() -> None:
        for _ in range(500):
            try:
                if invariants.load(scratch) is None:
                    failures.append("gone")
            except Exception as error:  # noqa: BLE001 - whatever it is, the test wants to know
                failures.append(repr(error))

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    end(writer, signal.SIGTERM)
    assert warm.wait(writer) == 130
    assert not failures


@pytest.mark.parametrize("part", range(2))
def test_of_two_starts_at_once_one_wins_and_the_other_names_it(scratch: Scratch, warm: Warm, part: int) -> None:
    for number in range(part, part + trials(100, least=4)):
        go = scratch.home / f"go{number}"
        shell_agent(scratch, f"while [ ! -e {go} ]; do sleep 0.01; done; echo '{PROMISE}'")
        pids = [warm.ralph("Work", name=name) for name in ("left", "right")]
        wait_for(lambda pids=pids: any(map(warm.ended, pids)), "one of the two to give way")  # type: ignore[misc]
        loser = next(index for index, pid in enumerate(pids) if warm.ended(pid))
        winner = 1 - loser
        assert warm.wait(pids[loser]) == 1
        assert not warm.ended(pids[winner])
        complaint = warm.errors(("left", "right")[loser])
        assert f"a loop on '{CHANGE}' is already running" in complaint
        assert f"(pid {pids[winner]}," in complaint
        if number % 4 == 3:  # a winner that dies leaves its name in the lock; the next one must not be taken for it
            end(pids[winner])
            assert warm.wait(pids[winner]) == -9
            continue
        go.touch()
        assert warm.wait(pids[winner]) == 0
    shell_agent(scratch, f"echo '{PROMISE}'")
    assert warm.wait(warm.ralph("Work")) == 0
    invariants.complete(scratch)


def test_another_change_in_the_same_tree_has_to_wait_too(scratch: Scratch) -> None:
    other = scratch.change.parent / "003-01_other"
    other.mkdir()
    (other / "proposal.md").write_text("# Other\n")
    fake_agent(scratch, "tell('ready')\nwait_for('go')\nsay(PROMISE)")
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        refused = scratch.spool("ralph", "Work", "--change", other.name)
        assert refused.returncode == 1
        assert f"pid {runner.pid}" in refused.stderr
        release(scratch, "go")
        assert runner.wait(PATIENCE_S) == 0
    assert scratch.spool("ralph", "Work", "--change", other.name).returncode == 0


def test_the_lock_is_not_handed_on_to_agents(scratch: Scratch) -> None:
    """A daemon that survives somehow, or a runner that is killed, must not keep the next run out."""
    fake_agent(scratch, "tell('ready')\ntime.sleep(1000)")
    with running(scratch, "Work") as runner:
        told(scratch, "ready")
        runner.kill()
        runner.wait()
    shell_agent(scratch, f"echo '{PROMISE}'")
    done = scratch.ralph("Work")
    assert done.returncode == 0, done.stderr


def test_context_added_by_many_at_once_is_all_there(scratch: Scratch, warm: Warm) -> None:
    notes = [f"note {number} " + "y" * 3_000 for number in range(20)]
    writers = [warm.ralph("--add-context", note, name=f"writer{number}") for number, note in enumerate(notes)]
    for number, writer in enumerate(writers):
        assert warm.wait(writer) == 0, warm.errors(f"writer{number}")
    lines = (scratch.state / "context.md").read_text().splitlines()
    assert sorted(lines) == sorted(notes)


def test_status_is_answered_while_the_loop_does_not_run(scratch: Scratch) -> None:
    shown = subprocess.run(
        scratch.argv("ralph", "--status", "--json", "--change", CHANGE),
        cwd=scratch.root, env=scratch.env, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert shown.returncode == 0
    assert json.loads(shown.stdout)["state"] is None
    assert not scratch.state.exists(), "looking must not write"
