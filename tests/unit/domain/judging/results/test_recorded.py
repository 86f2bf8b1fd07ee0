"""Each runner's recorded output, read."""

from __future__ import annotations

import pytest

from spool.domain.judging.results.model import ResultStatus
from tests.unit.domain.judging.results.recorded import NAMES, ids, recorded

PYTEST = ["test_fail", "test_xpass_strict", "test_setup_error", "test_teardown_error"]
UNITTEST = ["test_error", "test_fail", "test_sub", "test_unexpected"]
VITEST = [f"{file}.test.mjs{{}}sum > {name}" for file in ("vi/sum", "vi/two") for name in ("later", "some day")]
GO = ["broken", "calc.TestFail", "calc.TestTable", "calc.TestTable/bad"]

# file: reader, complete, unnamed, passed, failed, skipped
TABLE = {
    "cargo-1.95.0.txt": ("cargo", False, 0, 2, ["calc::tests::fails"], ["calc::tests::later"]),
    "cargo-1.95.0-no-fail-fast.txt": ("cargo", True, 0, 4, ["calc::tests::fails"], ["calc::tests::later"]),
    "cargo-1.95.0-nocapture.txt": ("cargo", False, 0, 3, ["calc::tests::fails"], ["calc::tests::later"]),
    "go-1.19.8.txt": ("go", False, 0, 0, [f"example.org/calc/{one}" for one in GO], []),
    "go-1.19.8-v.txt": (
        "go",
        False,
        0,
        7,
        [f"example.org/calc/{one}" for one in GO],
        ["example.org/calc/calc.TestSkip"],
    ),
    "go-1.19.8-json.txt": (
        "go",
        False,
        0,
        7,
        [f"example.org/calc/{one}" for one in GO],
        ["example.org/calc/calc.TestSkip"],
    ),
    "go-1.19.8-panic.txt": ("go", False, 0, 1, ["example.org/p.TestBoom"], []),
    "gradle-shape.xml": ("junit", True, 0, 2, ["org.example.CalcTest::[2] 2, 2"], []),
    "surefire-shape.xml": (
        "junit",
        True,
        0,
        1,
        ["org.example.CalcTest::wrong", "org.example.CalcTest::boom"],
        ["org.example.CalcTest::later"],
    ),
    "jest-30.5.2.txt": ("jest", True, 10, 0, ["sum.test.js > sum > wrong"], []),
    "jest-30.5.2-verbose.txt": (
        "jest",
        True,
        0,
        6,
        ["sum.test.js > sum > wrong"],
        [f"{file}.test.js > sum > {name}" for file in ("sum", "two") for name in ("later", "some day")],
    ),
    "jest-junit-17.0.0.xml": ("junit", True, 0, 8, ["sum wrong"], ["sum later", "sum later #2"]),
    "node-20.20.2.jsonl": (
        "node",
        True,
        0,
        8,
        ["a.test.js > fails", "a.test.js > suite > inner bad"],
        ["a.test.js > skipped one", "a.test.js > todo one"],
    ),
    "node-20.20.2.xml": ("junit", True, 0, 8, ["fails", "suite > inner bad"], ["skipped one", "todo one"]),
    "node-20.20.2-spec.txt": ("node", False, 0, 9, ["fails", "suite > inner bad"], ["skipped one", "todo one"]),
    "node-20.20.2-tap.txt": ("tap", True, 0, 8, ["fails", "suite > inner bad"], ["skipped one", "todo one"]),
    "perl-5.36.0.tap": ("tap", True, 0, 3, ["wrong"], ["4", "todo one"]),
    "prove-3.44-v.txt": (
        "tap",
        True,
        0,
        4,
        ["t/a.t > wrong"],
        ["t/a.t > 4", "t/a.t > todo one", "t/b.t > fine"],
    ),
    "pytest-8.4.2.jsonl": (
        "pytest",
        True,
        0,
        6,
        [f"tests/test_calc.py::{one}" for one in PYTEST],
        ["tests/test_calc.py::test_skip", "tests/test_calc.py::test_xfail"],
    ),
    "pytest-8.4.2-xunit1.xml": (
        "junit",
        True,
        0,
        6,
        [f"tests/test_calc.py::{one}" for one in PYTEST],
        ["tests/test_calc.py::test_skip", "tests/test_calc.py::test_xfail"],
    ),
    "pytest-8.4.2-xunit2.xml": (
        "junit",
        True,
        0,
        6,
        [f"tests.test_calc::{one}" for one in PYTEST],
        ["tests.test_calc::test_skip", "tests.test_calc::test_xfail"],
    ),
    "unittest-3.11.7.txt": (
        "unittest",
        True,
        5,
        0,
        ["unittest.loader._FailedTest.test_broken", "test_u.S", *(f"test_u.T.{one}" for one in UNITTEST)],
        [],
    ),
    "unittest-3.11.7-v.txt": (
        "unittest",
        True,
        0,
        3,
        ["unittest.loader._FailedTest.test_broken", "test_u.S", *(f"test_u.T.{one}" for one in UNITTEST)],
        ["test_u.T.test_expected", "test_u.T.test_skip"],
    ),
    "unittest-3.8.18-v.txt": (
        "unittest",
        True,
        0,
        3,
        ["unittest.loader._FailedTest.test_broken", "test_u.S", *(f"test_u.T.{one}" for one in UNITTEST)],
        ["test_u.T.test_expected", "test_u.T.test_skip"],
    ),
    "vitest-4.1.12.txt": ("vitest", True, 10, 0, ["vi/sum.test.mjs > sum > wrong"], []),
    "vitest-4.1.12-verbose.txt": (
        "vitest",
        True,
        0,
        6,
        ["vi/sum.test.mjs > sum > wrong"],
        [one.format(" > ") for one in VITEST],
    ),
    "vitest-4.1.12.xml": (
        "junit",
        True,
        0,
        6,
        ["vi/sum.test.mjs::sum > wrong"],
        [one.format("::") for one in VITEST],
    ),
}
EXPECTED_FAILURES = {
    "node-20.20.2.jsonl": "a.test.js > todo one",
    "node-20.20.2-tap.txt": "todo one",
    "perl-5.36.0.tap": "todo one",
    "pytest-8.4.2.jsonl": "tests/test_calc.py::test_xfail",
    "pytest-8.4.2-xunit2.xml": "tests.test_calc::test_xfail",
    "unittest-3.11.7-v.txt": "test_u.T.test_expected",
}
DETAILS = {
    "cargo-1.95.0.txt": "assertion `left == right` failed",
    "go-1.19.8.txt": "undefined: undefined",
    "go-1.19.8-json.txt": "got 1, want 2",
    "go-1.19.8-panic.txt": "panic: x",
    "jest-30.5.2.txt": "Expected: 2",
    "node-20.20.2.jsonl": "Expected values to be strictly equal",
    "node-20.20.2-tap.txt": "1 !== 2",
    "pytest-8.4.2.jsonl": "E   assert 1 == 2",
    "surefire-shape.xml": "CalcTest.java:12",
    "unittest-3.11.7.txt": "AssertionError: 1 != 2",
    "vitest-4.1.12.txt": "expected 1 to be 2",
}


def test_every_recording_is_in_the_table() -> None:
    assert sorted(TABLE) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_recorded_output_gives_each_test_its_result(name: str) -> None:
    reader, complete, unnamed, passed, failed, skipped = TABLE[name]
    results = recorded(name)
    assert results.readers == (reader,)
    assert sorted(ids(results, ResultStatus.FAILED)) == sorted(failed)
    assert ids(results, ResultStatus.SKIPPED) == skipped
    assert (len(results.passed), results.unnamed, results.complete) == (passed, unnamed, complete)
    assert results.total == passed + unnamed + len(failed) + len(skipped)


@pytest.mark.parametrize("name", EXPECTED_FAILURES)
def test_expected_failures_are_marked(name: str) -> None:
    assert [test.id for test in recorded(name).tests if test.expected_failure] == [EXPECTED_FAILURES[name]]


@pytest.mark.parametrize("name", DETAILS)
def test_a_failure_says_why_in_few_lines(name: str) -> None:
    failing = recorded(name).failing
    assert any(DETAILS[name] in test.detail for test in failing)
    assert all(test.detail.count("\n") < 15 and len(test.detail) <= 2_000 for test in failing)


def test_the_plugin_and_the_xml_of_pytest_give_the_same_ids() -> None:
    plugin, xml = recorded("pytest-8.4.2.jsonl"), recorded("pytest-8.4.2-xunit1.xml")
    assert {test.id: test.status for test in plugin.tests} == {test.id: test.status for test in xml.tests}


def test_only_runners_that_name_all_tests_say_so() -> None:
    partial = [name for name in NAMES if not recorded(name).names_all]
    assert partial == ["go-1.19.8.txt", "jest-30.5.2.txt", "unittest-3.11.7.txt", "vitest-4.1.12.txt"]


@pytest.mark.parametrize(
    ("name", "forged"),
    [("go-1.19.8-v.txt", "Forged"), ("go-1.19.8-json.txt", "Forged"), ("node-20.20.2-tap.txt", "forged"),
     ("surefire-shape.xml", "forged"), ("cargo-1.95.0.txt", "forged"), ("pytest-8.4.2.jsonl", "forged"),
     ("node-20.20.2.jsonl", "forged")],
)  # fmt: skip
def test_printed_results_of_tests_that_never_ran_are_not_believed(name: str, forged: str) -> None:
    assert not [test.id for test in recorded(name).tests if forged in test.id]


@pytest.mark.parametrize("name", ["node-20.20.2-spec.txt", "cargo-1.95.0-nocapture.txt"])
def test_a_forged_line_that_adds_a_test_makes_results_incomplete(name: str) -> None:
    results = recorded(name)
    assert [test.id for test in results.tests if "forged" in test.id]
    assert not results.complete
