"""The installed wheel, and a person who uses it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.person import Person, make_shop
from tests.support import PATIENCE_S
from tests.support.terminal import terminal

TOP = Path(__file__).parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker walk all journeys, so that the wheel is built once."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("journeys"))


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of the built wheel; its dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("installed")
    _quietly(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder), cwd=TOP)
    (wheel,) = folder.glob("*.whl")
    _quietly(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"))
    (packages,) = (folder / "venv/lib").glob("python*/site-packages")
    (theirs,) = (Path(sys.prefix) / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{theirs}\n")
    python = folder / "venv/bin/python"
    _quietly(sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    where = subprocess.run([python, "-c", "import spool; print(spool.__file__)"], capture_output=True, text=True)
    assert where.stdout.startswith(str(folder)), "the journeys would walk through the checkout"
    return folder / "venv/bin"


def _quietly(*words: str, cwd: Path | None = None) -> None:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def person(installed: Path, tmp_path: Path) -> Iterator[Person]:
    """A person in front of a terminal, in the clone of a shop that has tests, with an agent that obeys."""
    shop = make_shop(tmp_path, installed)
    with terminal(shop, width=110, height=40) as opened:
        yield Person(shop, opened)
    shop.spool("stop", "--all-projects")
