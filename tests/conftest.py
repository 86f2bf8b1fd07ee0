"""Fixtures for every test."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.scale import SCALE, SEED
from tests.support import Scratch, make_scratch

# How long an example takes says nothing on a loaded machine: 974 ms at a load of 40, where hypothesis allows 200.
settings.register_profile("loaded", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loaded")

# A shell without job control starts `make test &` with SIGINT ignored, and so would be every program under test.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Print what repeats the randomised tests."""
    return f"random trials: SPOOL_FAULTS_SCALE={SCALE:g} SPOOL_SEED={SEED}"


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
