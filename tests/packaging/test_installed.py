"""The built wheel, installed as people install it: by pip, by `uv tool install` and by pipx, in a home of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from spool import __version__
from tests.support import PATIENCE_S

TOP = Path(__file__).parents[2]
FOLDER = Path(
    os.environ.get("SPOOL_INSTALLERS_DIR")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spool-installers"
)
STAYS = ".local/state/spool/spending"
"""What docs/install.md names as what stays in the home directory."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=TOP, check=True, timeout=PATIENCE_S)
    return folder


@dataclass
class Machine:
    """A home directory in which nothing was ever installed."""

    home: Path
    wheel: Path

    @property
    def environment(self) -> dict[str, str]:
        own = [self.home / "venv/bin", self.home / ".local/bin", FOLDER / "bin"]
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*map(str, own), os.environ["PATH"]]),
            "LANG": "C.UTF-8",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(FOLDER / "wheels"),
            "UV_NO_CONFIG": "1",
            "UV_FIND_LINKS": str(FOLDER / "wheels"),
            "UV_OFFLINE": "1",
            "UV_PYTHON_DOWNLOADS": "never",
        }

    def run(self, *words: str | Path) -> str:
        """Run a command, which must succeed, and return its output."""
        done = subprocess.run(
            list(map(str, words)), cwd=self.home, env=self.environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def left(self) -> set[str]:
        """Return the files of the home directory, but for those of the installers and the repository."""
        found = (path for path in self.home.rglob("*") if not path.is_dir() or path.is_symlink())
        names = {str(path.relative_to(self.home)) for path in found}
        theirs = (
            "kept/",
            "venv/",
            ".local/share/pipx/",
            ".local/share/uv/",
            ".local/state/pipx/",
            ".cache/",
            ".rustup/",
        )
        inside = {name for name in names if name.startswith(theirs) and "site-packages/spool" in name}
        return {name for name in names if not name.startswith(theirs)} | inside


@pytest.fixture
def machine(built: Path, tmp_path: Path) -> Machine:
    if not (FOLDER / "installed").exists():
        pytest.skip("uv and pipx are not installed; run `make installers`")
    (wheel,) = built.glob("*.whl")
    return Machine(tmp_path, wheel)


def by_pip(machine: Machine) -> Iterator[None]:
    machine.run(sys.executable, "-m", "venv", "venv")
    machine.run("venv/bin/python", "-m", "pip", "install", machine.wheel)
    yield
    machine.run("venv/bin/python", "-m", "pip", "uninstall", "--yes", "spool-loop")


def by_uv(machine: Machine) -> Iterator[None]:
    machine.run("uv", "tool", "install", "--no-index", "--python", sys.executable, machine.wheel)
    yield
    machine.run("uv", "tool", "uninstall", "spool-loop")


def by_pipx(machine: Machine) -> Iterator[None]:
    machine.run("pipx", "install", "--python", sys.executable, machine.wheel)
    yield
    machine.run("pipx", "uninstall", "spool-loop")


@pytest.mark.long
@pytest.mark.parametrize("installed_by", [by_pip, by_uv, by_pipx])
def test_it_runs_and_uninstalls(machine: Machine, installed_by: Callable[[Machine], Iterator[None]]) -> None:
    steps = installed_by(machine)
    next(steps)
    assert machine.run("spool", "--version") == f"spool {__version__}\n"
    assert machine.run("wt-loop", "--version") == f"wt-loop {__version__}\n"
    said = machine.run("spool", "demo")
    assert "test_refund vanished" in said and "--- proved:" in said
    next(steps, None)
    assert machine.left() == set()


@pytest.mark.long
def test_after_cleaning_and_uninstalling_only_what_is_documented_stays(machine: Machine) -> None:
    steps = by_uv(machine)
    next(steps)
    machine.run("spool", "demo", "--keep", "kept")
    machine.run("git", "-C", "kept", "checkout", "-q", ".")
    machine.run("env", "-C", "kept", "spool", "run", "001-01_shop", "--fresh")
    machine.run("env", "-C", "kept", "spool", "clean", "--everything", "--yes")
    next(steps, None)
    assert {name.rpartition("/")[0] for name in machine.left()} == {STAYS}
    assert not (machine.home / "kept/.git/spool").exists()


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("spool_loop-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"spool", f"spool_loop-{__version__}.dist-info"}
    assert {"spool/py.typed", "spool/api.py", "spool/tui/spool.tcss", "spool/reporters/node/node_results.cjs"} <= {
        *names
    }
    about = zipfile.ZipFile(wheel).read(f"spool_loop-{__version__}.dist-info/METADATA").decode()
    assert "Name: spool-loop\n" in about
    assert all(f"Provides-Extra: {extra}\n" in about for extra in ("fleet", "web", "otel"))


def test_the_sdist_holds_everything_that_is_tracked(built: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not in a git repository")
    (sdist,) = built.glob("spool_loop-*.tar.gz")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    there = {name for name in listed.stdout.split("\0") if name and os.path.lexists(TOP / name)}
    assert there - packed == set()
