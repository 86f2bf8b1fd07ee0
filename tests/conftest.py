"""Fixtures for every test."""

import signal
from pathlib import Path

import pytest

from tests.support import Scratch, make_scratch

# A shell without job control starts `make test &` with SIGINT ignored, and so would be every program under test.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """A project with one change in a git repository."""
    return make_scratch(tmp_path)
