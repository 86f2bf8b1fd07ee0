"""Fixtures for the tests that drive real agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harnesses.rig import Rig, rigged
from tests.harnesses.setups import SETUPS, missing

EVERYTHING = ("claude", "codex")
"""The agents that `make test` drives through every scene; what the others print is decoded from transcripts there."""
ONE_SCENE = ("copilot", "gemini", "pi")
"""Driven through one scene only. A start of the others takes 3 to 10 s of processor time."""
_SCENE = "test_complete"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most agents to `make long`."""
    for item in items:
        agent = _agent(item) if isinstance(item, pytest.Function) else ""
        slight = agent in ONE_SCENE and item.name.startswith(f"{_SCENE}[")
        if agent and agent not in EVERYTHING and not slight:
            item.add_marker(pytest.mark.long)


def _agent(test: pytest.Function) -> str:
    """Return the agent that a test drives as one of several."""
    given = test.callspec.params if hasattr(test, "callspec") else {}
    return next((str(given[name]) for name in ("rig", "agent") if name in given), "")


@pytest.fixture(params=list(SETUPS))
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    """Each agent in turn; one that is not installed is skipped with the reason."""
    if why := missing(request.param):
        pytest.skip(why)
    with rigged(request.param, tmp_path) as made:
        yield made
