"""Fixtures for every test."""

import signal
from pathlib import Path

import pytest

from tests.scale import SCALE, SEED
from tests.support import Scratch, make_scratch

# A shell without job control starts `make test &` with SIGINT ignored, and so would be every program under test.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Print what repeats the randomised tests."""
    return f"random trials: SPOOL_FAULTS_SCALE={SCALE:g} SPOOL_SEED={SEED}"


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """A project with one change in a git repository."""
    return make_scratch(tmp_path)
