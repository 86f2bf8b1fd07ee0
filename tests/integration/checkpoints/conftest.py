"""Fixtures for checkpoint tests."""

from pathlib import Path

import pytest

from spool.host import external_command
from spool.host.git import repository
from tests.integration.checkpoints.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A repository with one commit, some staged, some changed and some untracked work."""
    made = World(tmp_path)
    made.write("committed", "1\n")
    made.write("src/code.py", "print(1)\n")
    made.write(".gitignore", "*.log\n.env\nnode_modules/\n")
    made.commit("first")
    made.write("committed", "2\n")
    made.write("staged", "s\n")
    made.git("add", "staged")
    made.write("untracked", "u\n")
    made.write(".env", "SECRET=1\n")
    return made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The git commands that were run."""
    names: list[str] = []
    really = external_command.run_command

    async def run_command(argv: list[str], **how: object) -> external_command.Completed:
        names.append(external_command.short_name(argv))
        return await really(argv, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(repository, "run_command", run_command)
    return names
