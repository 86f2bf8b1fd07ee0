"""Fixtures for the tests that drive real agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harnesses.rig import Rig, rigged
from tests.harnesses.setups import SETUPS, missing


@pytest.fixture(params=list(SETUPS))
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    """Each agent in turn; one that is not installed is skipped with the reason."""
    if why := missing(request.param):
        pytest.skip(why)
    with rigged(request.param, tmp_path) as made:
        yield made
