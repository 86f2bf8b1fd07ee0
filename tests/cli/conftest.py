"""Fixtures for the tests of the command line."""

import pytest

from tests.support import Scratch, make_scratch
from tests.support.night import run_night, set_up_night


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Play the night in one worker only."""
    for item in items:
        if "tests/cli" in str(item.path) and "night" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("night"))


@pytest.fixture(scope="session")
def night(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """A project after a night that ended stuck; no test changes it."""
    scratch = make_scratch(tmp_path_factory.mktemp("night"))
    set_up_night(scratch)
    done = run_night(scratch)
    assert done.returncode == 1, done.stderr
    return scratch
