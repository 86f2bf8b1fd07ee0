"""The spending file: many runners at once, torn lines, kills, and local days."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from spool.domain.agent.stream import Usage
from spool.host.state.spending_log import SpendingFile
from tests.unit.host.state.spendings import NOON, record, spending

WRITER = """
import sys
from pathlib import Path
from tests.unit.host.state.spendings import record, spending
mine = spending(Path(sys.argv[1]))
print("ready", flush=True)
for iteration in range(1, int(sys.argv[3]) + 1):
    mine.add(record(sys.argv[2], iteration))
"""


def start_writer(folder: Path, run_id: str, count: int) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[4]
    argv = [sys.executable, "-c", WRITER, str(folder), run_id, str(count)]
    return subprocess.Popen(argv, cwd=root, stdout=subprocess.PIPE)


@pytest.fixture(autouse=True)
def utc() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def test_all_loops_add_up(tmp_path: Path) -> None:
    mine, other = spending(tmp_path), spending(tmp_path)
    assert mine.today() == Usage()
    mine.add(record("a", 1))
    other.add(record("b", 1))
    assert mine.today() == Usage(tokens_in=2, cost_usd=0.5)
    other.add(record("b", 2))
    assert mine.today() == other.today() == Usage(tokens_in=3, cost_usd=0.75)
    (path,) = tmp_path.iterdir()
    assert (path.name, path.stat().st_mode & 0o777) == ("2026-03-04.jsonl", 0o600)


def test_an_iteration_that_is_added_again_after_a_crash_counts_once(tmp_path: Path) -> None:
    mine = spending(tmp_path)
    mine.add(record("a", 1))
    assert mine.today().tokens == 1
    mine.add(record("a", 1))
    assert mine.today().tokens == spending(tmp_path).today().tokens == 1


def test_many_runners_write_at_once(tmp_path: Path) -> None:
    writers = [start_writer(tmp_path, f"run-{number}", 50) for number in range(4)]
    reader = spending(tmp_path)
    while any(writer.poll() is None for writer in writers):
        reader.today()  # reads what is there, in the middle of their writes
        time.sleep(0.005)
    assert [writer.wait() for writer in writers] == [0] * 4
    assert reader.today() == spending(tmp_path).today() == Usage(tokens_in=200, cost_usd=50.0)


def test_a_killed_runner_costs_at_most_its_own_last_line(tmp_path: Path) -> None:
    writer = start_writer(tmp_path, "killed", 100_000)
    deadline = time.monotonic() + 120
    while (spending(tmp_path).today().tokens or 0) < 20:
        assert time.monotonic() < deadline
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    before = spending(tmp_path).today().tokens or 0
    spending(tmp_path).add(record("next", 1))
    assert spending(tmp_path).today().tokens == before + 1


def test_a_torn_line_is_skipped_and_the_next_one_is_whole(tmp_path: Path) -> None:
    mine = spending(tmp_path)
    mine.add(record("a", 1))
    (path,) = tmp_path.iterdir()
    with path.open("ab") as file:
        file.write(b'{"schema":1,"at":"2026-03')
    assert mine.today().tokens == 1
    mine.add(record("a", 2))
    assert mine.today().tokens == 2
    assert spending(tmp_path).today().tokens == 2
    path.write_bytes(b"\xff\xfe\n[1]\nnull\n" + path.read_bytes())
    assert spending(tmp_path).today().tokens == 2


@pytest.mark.parametrize(("zone", "day"), [("UTC", 4), ("Pacific/Auckland", 5), ("America/New_York", 4)])
def test_the_day_is_the_local_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, day: int) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    spending(tmp_path).add(record("a", 1))
    assert [path.name for path in tmp_path.iterdir()] == [f"2026-03-{day:02}.jsonl"]


def test_a_new_day_starts_at_nothing(tmp_path: Path) -> None:
    now = NOON
    mine = SpendingFile(project="/p", change="c", now=lambda: now, folder=tmp_path)
    mine.add(record("a", 1))
    assert mine.today().tokens == 1
    now += timedelta(days=1)
    assert mine.today() == Usage()
    mine.add(record("a", 2))
    assert mine.today().tokens == 1


def test_a_line_names_the_loop(tmp_path: Path) -> None:
    spending(tmp_path).add(record("a", 7))
    (line,) = next(tmp_path.iterdir()).read_bytes().splitlines()
    found = msgspec.json.decode(line)
    assert (found["project"], found["run_id"], found["iteration"], found["model"]) == ("/p", "a", 7, "m")
