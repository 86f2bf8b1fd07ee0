"""One Temporal server for all tests of the fleet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("temporalio", reason="the extra [fleet] is not installed: make .venv/.ready")

from tests.fleet.support import Fleet, Server, running_server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/fleet" in str(item.path):
            item.add_marker(pytest.mark.xdist_group("fleet"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from running_server(tmp_path_factory.mktemp("temporal"))


@pytest.fixture
def fleet(tmp_path: Path, server: Server, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    name = request.node.name.partition("[")[0].removeprefix("test_")[:30]
    made = Fleet(tmp_path, server, name)
    yield made
    made.close()
