"""Fixtures for every test."""

import json
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support import Scratch, make_scratch
from tests.support.pace import Pace, longest_s
from tests.support.scale import SCALE, SEED

# How long an example takes says nothing on a loaded machine: 974 ms at a load of 40, where hypothesis allows 200.
settings.register_profile("loaded", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loaded")

# A shell without job control starts `make test &` with SIGINT ignored, and so would be every program under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

LEFT_OUT = pytest.StashKey[int]()
SEEDS = Path(__file__).parent / "seeds"


def pytest_report_header() -> str:
    """Print what repeats the randomised tests."""
    return f"random trials: SPOOL_FAULTS_SCALE={SCALE:g} SPOOL_SEED={SEED}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs root; what some users may do as well checks that itself."""
    mark = item.get_closest_marker("root")
    if os.geteuid() != 0 and mark is not None and mark.kwargs.get("always", True):
        pytest.skip("needs root")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that costs too much for `make test`; long profiles and the specifications' scenarios may."""
    began = Pace.now()
    result = yield
    judged = item.config.option.markexpr == "not long" and SEEDS not in item.path.parents
    if judged and (cost_s := began.cost_s()) > (most_s := longest_s()):
        pytest.fail(f"cost {cost_s:.1f} s of at most {most_s:.1f} s; mark it `long`, or make it cheaper", pytrace=False)
    return result


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count the tests that are left to `make long`."""
    if items:
        stash = items[0].config.stash
        stash[LEFT_OUT] = stash.get(LEFT_OUT, 0) + sum(1 for item in items if item.get_closest_marker("long"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the count of a worker of pytest-xdist to the process that prints it."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the count of a worker; each of them collects all tests."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print how many tests are left to `make long`."""
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{left_out} long tests left out; `make long` runs them")


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    """A project with one change in a git repository; a loop that a test leaves behind is stopped."""
    made = make_scratch(tmp_path)
    yield made
    for entry in (made.home / ".local" / "state" / "spool" / "loops").glob("*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):  # some tests write what is no entry
            runner = json.loads(entry.read_text())["runner"]["pid"]
            if str(tmp_path).encode() in Path(f"/proc/{runner}/environ").read_bytes():
                os.kill(runner, signal.SIGTERM)
