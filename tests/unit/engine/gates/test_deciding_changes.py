"""Which changed files decide about tests, by the gates' commands, the tests' ids and the old tree."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from spool.domain.judging.gates.gate import GateRun
from spool.engine.gates.deciding_changes import Deciders
from tests.unit.domain.judging.gates.gate_runs import results, run

GREEN = run(0, results(True, **{"tests/test_a.py::test_a": "passed", "qa/check_b.py::test_b": "passed"}))
TDD = run(1, results(True, **{"tests/test_a.py::test_a": "passed", "tests/test_a.py::test_new": "failed"}))
PLAIN = GateRun(exit_code=0)


def found(
    changes: Mapping[str, str],
    *,
    command: str = "make test",
    home: str = "",
    before: GateRun = GREEN,
    said: Mapping[str, set[str]] | None = None,
) -> set[str]:
    async def mentions(tree: str, words: Sequence[str]) -> Mapping[str, frozenset[str]]:
        assert tree in ("base", "tree")
        return {word: frozenset((said or {})[word]) for word in words if word in (said or {})}

    deciders = Deciders("base", "tree", changes, home=home, commands=[command], mentions=mentions)
    return set(asyncio.run(deciders.found(before, before)))


@pytest.mark.parametrize(
    ("path", "command", "home", "decides"),
    [
        ("check.sh", "sh check.sh", "", True),
        ("packages/calc/check.sh", "sh check.sh", "packages/calc/", True),
        ("other/check.sh", "sh check.sh", "packages/calc/", False),
        ("calc.py", "ruff check calc.py", "", False),
        ("qa/check_b.py", "make test", "", True),
        ("packages/calc/qa/check_b.py", "make test", "packages/calc/", True),
        ("calc.py", "make test", "", False),
    ],
)
def test_by_the_command_and_the_ids_of_tests(path: str, command: str, home: str, decides: bool) -> None:
    assert found({path: "M"}, command=command, home=home) == ({path} if decides else set())


def test_a_new_file_that_a_command_names_is_the_work() -> None:
    assert found({"check.sh": "A"}, command="sh check.sh") == set()


@pytest.mark.parametrize(
    ("path", "said", "decides"),
    [
        ("scripts/check.sh", {"check.sh": {"Makefile"}}, True),
        ("scripts/unit", {"scripts/unit": {"Makefile"}}, True),
        ("scripts/lib.sh", {"lib.sh": {"scripts/check.sh"}}, True),
        ("scripts/release.py", {"release.py": {"Makefile", "tests/test_release.py"}}, False),
        ("scripts/check.sh", {"check.sh": {"README.md"}}, False),
        ("scripts/check.sh", {"check.sh": {"scripts/check.sh"}}, False),
        ("sub.sh", {"sub.sh": {"Makefile"}}, False),
        ("plugins/marks.py", {"-p plugins.marks": {"pytest.ini"}}, True),
        ("plugins/marks.py", {'"plugins.marks"': {"conftest.py"}, "pytest_plugins": {"conftest.py"}}, True),
        ("calc.py", {'"calc"': {"pyproject.toml"}}, False),
        ("checks/__init__.py", {"load_tests": {"checks/__init__.py"}}, True),
    ],
)
def test_by_what_the_old_tree_runs(path: str, said: Mapping[str, set[str]], decides: bool) -> None:
    assert found({path: "M"}, said=said) == ({path} if decides else set())


@pytest.mark.parametrize(
    ("path", "before", "said", "decides"),
    [
        ("statistics.py", GREEN, {"import statistics": {"tests/test_a.py"}}, True),
        ("src/statistics/__init__.py", GREEN, {"from statistics": {"tests/test_a.py"}}, True),
        ("statistics.py", GREEN, {"import statistics": {"calc.py"}}, False),
        ("power.py", TDD, {"import power": {"tests/test_a.py"}}, False),
        ("statistics.py", PLAIN, {"import statistics": {"tests/test_a.py"}}, True),
        ("power.py", GateRun(exit_code=1), {"import power": {"tests/test_a.py"}}, False),
        ("lib/statistics.py", GREEN, {"import statistics": {"tests/test_a.py"}}, False),
    ],
)
def test_a_new_module_that_takes_the_place_of_an_imported_one(
    path: str, before: GateRun, said: Mapping[str, set[str]], decides: bool
) -> None:
    assert found({path: "A"}, before=before, said=said) == ({path} if decides else set())


@pytest.mark.parametrize("old", ["calc.py", "lib/calc.py", "src/calc/__init__.py"])
def test_a_module_that_moved_takes_nobodys_place(old: str) -> None:
    assert found({old: "D", "calc/__init__.py": "A"}, said={"import calc": {"tests/test_a.py"}}) == set()
