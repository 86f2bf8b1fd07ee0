"""Fixtures for the fault tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import Scratch, make_scratch, wait_for
from tests.support.machine import Warm, end, marked


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    """A project with one change; when the test is over, nothing that belongs to it may be alive."""
    scratch = make_scratch(tmp_path)
    yield scratch
    try:
        wait_for(lambda: not marked(scratch), lambda: f"the end of {marked(scratch)}")
    finally:
        for pid in marked(scratch):
            end(pid)


@pytest.fixture
def warm(scratch: Scratch) -> Iterator[Warm]:
    """An interpreter that starts runners quickly."""
    with Warm(scratch) as warm:
        yield warm
