"""Decoders are made while other threads decode."""

import subprocess
import sys

import msgspec
import pytest

from spool.decoders import converted, decoded
from tests.support import PATIENCE_S

RACE = """
import sys, threading
from spool.decoders import decoded
from spool.domain.loop.events import Event, RunEnded, RunStarted

sys.setswitchinterval(1e-7)
together = threading.Barrier(8)
started = b'{"type":"RunStarted","change":"a","harness":"x","model":"","limits":{},"iteration":1,"usage":{}}'

def read():
    together.wait()
    for _ in range(20):
        assert decoded(started, Event).change == "a"

threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("trial", range(5))
def test_threads_that_meet_a_type_for_the_first_time_do_not_crash(trial: int) -> None:
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")


class Point(msgspec.Struct):
    x: int


def test_a_value_is_of_its_type() -> None:
    assert decoded(b'{"x": 1}', Point) == converted({"x": 1}, Point) == Point(1)
    assert converted("1", int, strict=False) == 1
    with pytest.raises(msgspec.ValidationError):
        decoded(b'{"x": "1"}', Point)
    with pytest.raises(msgspec.ValidationError):
        converted({"x": "1"}, Point)
