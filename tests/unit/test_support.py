"""What the tests stand on: processes forked warm are as real as others, and the cost of a test is measured fairly."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import CHANGE, Scratch, wait_for, warm
from tests.support.pace import Pace


def cold(scratch: Scratch, *words: str, **how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        scratch.argv(*words), cwd=scratch.root, env=scratch.env | how, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "words",
    [("--version",), ("ps",), ("ralph", "--help"), ("show", "nothing"), ("ralph", "--nonsense"), ("list", "--json")],
)
def test_a_warm_start_ends_and_prints_as_a_cold_one(scratch: Scratch, words: tuple[str, ...]) -> None:
    first, second = scratch.spool(*words), cold(scratch, *words)
    assert (first.returncode, first.stdout, first.stderr) == (second.returncode, second.stdout, second.stderr)


def test_a_warm_start_is_a_child_with_its_own_names(scratch: Scratch) -> None:
    scratch.script([{"sleep": 600}])
    process = scratch.start(
        "ralph", "Go", "-c", CHANGE, "--harness", "scripted", env={"MARK": "1"}, start_new_session=True
    )
    seen = Path(f"/proc/{process.pid}")
    try:
        wait_for(lambda: b"MARK=1\0" in (seen / "environ").read_bytes())
        assert (seen / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")[1:4] == [b"-m", b"spool", b"ralph"]
        assert f"PPid:\t{os.getpid()}\n" in (seen / "status").read_text()
        assert os.getsid(process.pid) == process.pid
        assert (seen / "cwd").readlink() == scratch.root
    finally:
        process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_what_the_interpreter_reads_when_it_starts_is_started_cold(scratch: Scratch) -> None:
    done = scratch.spool("--version", env={"PYTHONVERBOSE": "1"})
    assert "import 'spool'" in done.stderr


def test_a_process_that_does_not_end_is_killed_when_its_time_is_up(scratch: Scratch) -> None:
    scratch.script([{"sleep": 600}])
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run(scratch.argv("ralph", "Go", "-c", CHANGE, "--harness", "scripted"),
                 cwd=scratch.root, env=scratch.env, capture_output=True, timeout=0.5)  # fmt: skip


def test_work_of_a_child_counts_as_cost() -> None:
    began = Pace.now()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
    assert began.cost_s() >= 0.3


def test_the_fixtures_of_all_tests_load_no_textual() -> None:
    code = "import sys, tests.conftest; sys.exit('textual' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)
