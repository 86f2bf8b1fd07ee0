"""What a quick command loads: `--status` is to feel instant."""

import subprocess
import sys

import pytest

from tests.support import CHANGE, PATIENCE_S, Scratch
from tests.support.worktrees import fleet_of

HEAVY = (
    "textual",
    "rich",
    "asyncio",
    "importlib.metadata",
    "questionary",
    "prompt_toolkit",
    "platformdirs",
    "subprocess",
    "starlette",
    "uvicorn",
    "spool.web",
)
LIGHT_BUT_UNUSED = ("dataclasses", "hashlib", "json", "signal", "traceback")
"""Standard modules and others that cost milliseconds each, and that a quick command has no use for."""


@pytest.mark.parametrize(
    "words",
    [["--version"], ["--help"], ["ralph", "--help"], ["loop", "--help"], ["ralph", "--status", "--change", CHANGE]],
    ids=" ".join,
)
def test_a_quick_command_loads_nothing_heavy(scratch: Scratch, words: list[str]) -> None:
    loaded = loaded_by(scratch, words)
    assert loaded.isdisjoint((*HEAVY, *LIGHT_BUT_UNUSED)), loaded & {*HEAVY, *LIGHT_BUT_UNUSED}


def test_listing_loops_loads_neither_asyncio_nor_a_front_end_nor_what_it_does_not_use(scratch: Scratch) -> None:
    front = {"asyncio", "rich", "textual", "questionary"}
    for words in (["ps"], ["ps", "--all", "--json"]):
        assert loaded_by(scratch, words).isdisjoint((*front, *LIGHT_BUT_UNUSED, "platformdirs"))
    with fleet_of(scratch) as fleet:
        tree = fleet.worktree()
        tree.script([{"tick": 2}])
        tree.run()
        for words in (["list", "--all"], ["status", tree.change], ["status"], ["history", tree.change], ["--help"]):
            assert loaded_by(scratch, words, start=WT_LOOP).isdisjoint(front), words


WT_LOOP = ("-c", "from spool.__main__ import wt_loop; wt_loop()")


def loaded_by(scratch: Scratch, words: list[str], start: tuple[str, ...] = ("-m", "spool")) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *start, *words],
        cwd=scratch.root,
        env=scratch.env,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


def test_version_loads_only_the_package(scratch: Scratch) -> None:
    done = scratch.spool("--version")
    assert done.stdout.startswith("spool ")
    code = "import sys; sys.argv = ['spool', '--version']; from spool.__main__ import main; main()"
    code += "; print(sorted(name for name in sys.modules if name.startswith(('spool', 'click', 'msgspec'))))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.splitlines()[1] == "['spool', 'spool.__main__']"


def headless_modules() -> list[str]:
    import pkgutil

    import spool

    names = [module.name for module in pkgutil.walk_packages(spool.__path__, "spool.")]
    front = ("spool.cli", "spool.tui", "spool.web", "spool.views", "spool.__main__")
    return [name for name in names if not name.startswith(front)]


def test_no_front_end_leaks_into_a_headless_module() -> None:
    front = (
        "click",
        "rich",
        "textual",
        "questionary",
        "starlette",
        "spool.cli",
        "spool.tui",
        "spool.web",
        "spool.views",
    )
    code = f"""
import importlib, sys
for name in {headless_modules()!r}:
    importlib.import_module(name)
    leaked = [front for front in {front!r} if front in sys.modules]
    assert not leaked, (name, leaked)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S)
