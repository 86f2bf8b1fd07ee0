"""Fixtures for every test."""

from pathlib import Path

import pytest

from tests.support import Scratch, make_scratch


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """A project with one change in a git repository."""
    return make_scratch(tmp_path)
