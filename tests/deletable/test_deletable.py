"""The page, the fleet and telemetry can each be deleted; `make deletable` runs all tests without them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deletable.copies import PARTS, add_environment, copy_without
from tests.support import PATIENCE_S

IMPORTS = """
import importlib, pkgutil, spool
left_out = ("spool.reporters.", "spool.__main__")
names = [module.name for module in pkgutil.walk_packages(spool.__path__, "spool.")]
for name in names:
    if not name.startswith(left_out):
        importlib.import_module(name)
print(spool.__file__, *(name for name in names if PART in name.split(".")))
"""


@pytest.mark.parametrize("part", PARTS)
def test_every_module_can_be_imported_without_a_part(part: str, tmp_path: Path) -> None:
    place = tmp_path / "spool"
    removed = copy_without(part, place)
    assert f"tests/{part}" in removed
    code = f"PART = {part!r}\n{IMPORTS}"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(place / "src")}, capture_output=True, text=True
    )
    assert done.stdout.split() == [str(place / "src/spool/__init__.py")], done.stderr


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_the_checks_and_the_quick_tests_pass_without_a_part(part: str, tmp_path: Path) -> None:
    place = tmp_path / "spool"
    copy_without(part, place)
    add_environment(place)
    for words in (["make", "check"], ["make", "fast"]):
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=40 * PATIENCE_S)
        assert done.returncode == 0, f"{done.stdout[-4_000:]}{done.stderr[-2_000:]}"
