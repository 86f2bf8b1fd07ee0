"""Asking runners for results, and finding them again."""

from __future__ import annotations

import json

import pytest

from spool.domain.judging.results import readers
from spool.domain.judging.results.declaration import ResultPlace
from spool.domain.judging.results.model import Results, ResultStatus, ResultTally, Test, without_folder
from spool.domain.judging.results.unittest import read_log as unittest_log
from tests.unit.domain.judging.results.recorded import FOLDER, log

PLACE = ResultPlace(scratch="/scratch dir", reporters="/lib/spool/reporters")


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def call(name: str, outcome: str = "passed", when: str = "call") -> dict[str, str]:
    return {"id": f"t.py::{name}", "when": when, "outcome": outcome}


def found(files: dict[str, bytes], text: str = "") -> Results:
    results = readers.read(files, text.encode())
    assert results is not None
    return results


def test_variables_are_added_to_what_is_set() -> None:
    inherited = {"PYTHONPATH": "/mine", "PYTEST_ADDOPTS": "-q", "NODE_OPTIONS": "--no-warnings"}
    assert readers.environment(PLACE, inherited) == {
        "SPOOL_RESULTS": "/scratch dir",
        "PYTHONPATH": "/lib/spool/reporters/python:/mine",
        "PYTEST_ADDOPTS": "-q --junitxml='/scratch dir/pytest-junit.xml' -o junit_family=xunit1",
        "NODE_OPTIONS": '--no-warnings --require="/lib/spool/reporters/node/node_results.cjs"',
    }


def test_one_runner_can_be_asked_alone() -> None:
    assert readers.environment(PLACE, {}, "node").keys() == {"SPOOL_RESULTS", "NODE_OPTIONS"}
    assert readers.environment(PLACE, {}, "cargo") == {}


def test_files_and_logs_of_several_runners_are_merged() -> None:
    files = {"pytest-1.jsonl": lines(call("a"), {"end": 0, "collected": 1})}
    cargo = (FOLDER / "cargo-1.95.0-no-fail-fast.txt").read_text()
    results = found(files, "1 passed in 0.01s\n" + cargo)
    assert results.readers == ("pytest", "cargo")
    assert results.complete
    assert len(results.tests) == 7


def test_two_runs_of_pytest_are_both_read() -> None:
    ended = {"end": 0, "collected": 1}
    results = found({"pytest-2.jsonl": lines(call("b"), ended), "pytest-1.jsonl": lines(call("a"), ended)})
    assert [test.id for test in results.tests] == ["t.py::a", "t.py::b"]
    assert results.complete


def test_a_second_pytest_that_overwrote_the_xml_is_noticed() -> None:
    xml = {"pytest-junit.xml": b'<testsuite><testcase name="a" file="t.py" classname="t"/></testsuite>'}
    assert found(xml, "== 1 passed in 0.01s ==\n").complete
    assert not found(xml, "== 1 passed in 0.01s ==\n1 failed, 2 passed in 61.20s (0:01:01)\n").complete


@pytest.mark.parametrize(
    "end",
    [None, {"end": 2, "collected": 1}, {"end": 0, "collected": 2}, {"end": 3}, {"end": 4}],
    ids=["killed", "interrupted", "not all ran", "internal error", "usage"],
)
def test_a_pytest_run_that_did_not_reach_its_end_is_not_complete(end: dict[str, int] | None) -> None:
    results = found({"pytest-1.jsonl": lines(call("a"), *([end] if end else []))})
    assert [test.id for test in results.tests] == ["t.py::a"]
    assert not results.complete


@pytest.mark.parametrize(
    ("phases", "status"),
    [
        ([call("a")], ResultStatus.PASSED),
        ([call("a"), call("a", "failed", "teardown")], ResultStatus.FAILED),
        ([call("a", "failed"), call("a", "failed", "teardown")], ResultStatus.FAILED),
        ([call("a", "skipped", "setup"), call("a", "failed", "teardown")], ResultStatus.FAILED),
        ([call("a", "rerun"), call("a")], ResultStatus.PASSED),
        ([call("a", "failed"), call("a")], ResultStatus.FAILED),
    ],
)
def test_the_worst_phase_of_a_pytest_test_counts(phases: list[dict[str, str]], status: ResultStatus) -> None:
    results = found({"pytest-1.jsonl": lines(*phases, {"end": 1, "collected": 1})})
    assert [test.status for test in results.tests] == [status]


def test_node_reports_by_file_and_its_tap_is_not_read_again() -> None:
    tap = (FOLDER / "node-20.20.2-tap.txt").read_text()
    results = found({"node-1.jsonl": (FOLDER / "node-20.20.2.jsonl").read_bytes()}, tap)
    assert results.readers == ("node",)
    assert len(results.tests) == 12


def test_a_runner_that_is_named_is_the_only_one_read() -> None:
    tap = b"TAP version 13\nok 1 - a\n1..1\n"
    assert readers.read({}, tap, "cargo") is None
    assert readers.read({}, tap, "tap") is not None


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("ok 1 - a\nok 2 - b\n1..2\n", True),
        ("1..2\nok 1 - a\nok 2 - b\n", True),
        ("ok\nok\nok 3\n1..3\n", True),
        ("1..3\nok 1 - a\nok 2 - b\n", False),
        ("1..1\nok 1 - a\nok 2 - b\n", False),
        ("ok 1 - a\nok 2 - b\n", False),
        ("1..2\nok 1 - a\nok 2 - b\nBail out! no database\n", False),
        ("1..1\n    1..2\n    ok 1 - x\nok 1 - a\n", False),
        ("1..1\n    1..1\n    ok 1 - x\nok 1 - a\n", True),
        ("TAP version 13\n1..1\nok 1 - a\nTAP version 13\n1..1\nok 1 - b\n", True),
        ("1..1\nok 1 - a\n1..2\nok 1 - b\n", False),
        ("TAP version 14\n1..1\nok 1 - a\n  ---\n  never: ends\n", False),
    ],
)
def test_tap_is_complete_when_its_plans_match(text: str, complete: bool) -> None:
    assert log(text).complete is complete


def test_tap_directives_and_escapes() -> None:
    results = log(
        "1..6\nok 1 - a # SKIP why\nnot ok 2 - b # TODO\nok 3 - c # todo\nok 4 - d \\# x\nnot ok 5 - e\nok 6 #f\n"
    )
    assert [(test.id, test.status.value, test.expected_failure) for test in results.tests] == [
        ("a", "skipped", False),
        ("b", "skipped", True),
        ("c", "skipped", False),
        ("d # x", "passed", False),
        ("e", "failed", False),
        ("#f", "passed", False),
    ]


def test_a_tap_parent_that_fails_alone_counts_as_a_test() -> None:
    results = log("1..1\n    ok 1 - x\n    1..1\nnot ok 1 - a\n")
    assert [(test.id, test.status.value) for test in results.tests] == [("a > x", "passed"), ("a", "failed")]


def test_two_runs_of_unittest_are_both_read() -> None:
    one = "test_a (m.T.test_a) ... ok\n\n" + "-" * 70 + "\nRan 1 test in 0.001s\n\nOK\n"
    results = log(one + one.replace("test_a", "test_b") + "test_c (m.T.test_c) ... ok\n")
    assert [test.id for test in results.tests] == ["m.T.test_a", "m.T.test_b", "m.T.test_c"]
    assert not results.complete


def test_go_with_passing_packages_only_is_complete_and_names_no_test() -> None:
    results = log("ok  \texample.org/a\t0.002s\nok  \texample.org/b\t(cached)\n")
    assert (results.tests, results.packages, results.complete, results.names_all) == ((), 2, True, False)


def test_go_without_a_test_to_run_ran_none() -> None:
    results = log("testing: warning: no tests to run\nPASS\nok  \texample.org/a\t0.002s [no tests to run]\n")
    assert (results.ran, results.complete) == (False, True)


@pytest.mark.parametrize(
    ("command", "set_before", "asked"),
    [
        ("go test ./...", "", "-v"),
        ("cd api && go test ./...", "-mod=mod", "-mod=mod -v"),
        ("go test -v ./...", "", None),
        ("go test -race -json ./...", "", None),
        ("make test", "", None),
    ],
)
def test_go_is_asked_for_names_where_the_command_runs_it(command: str, set_before: str, asked: str | None) -> None:
    place = ResultPlace(scratch="/scratch", reporters="/reporters", command=command)
    assert readers.environment(place, {"GOFLAGS": set_before}, "go").get("GOFLAGS") == asked


@pytest.mark.parametrize(
    ("printed", "id_"),
    [
        ("parses # time=9345ms", "parses"),
        ("parses in 198ms", "parses"),
        ("waits 5 s", "waits 5 s"),
        ("reads [/tmp/pytest-of-me/pytest-12/a0/x.txt]", "reads [(temporary)]"),
        ("<Thing at 0x7f3a2c001d30>", "<Thing at 0x…>"),
        ("connects to 127.0.0.1:43127", "connects to 127.0.0.1:…"),
        ("page (3/12)", "page"),
        ("halves [1/2]", "halves"),
        ("sets port:80", "sets port:80"),
    ],
)
def test_an_id_holds_nothing_that_differs_from_run_to_run(printed: str, id_: str) -> None:
    tally = ResultTally()
    tally.add(printed, ResultStatus.PASSED)
    assert [test.id for test in tally.results("tap", complete=True).tests] == [id_]


def test_an_id_does_not_hold_the_path_of_the_tree() -> None:
    found = Results(tests=(Test(id="/home/me/calc/t/a.js > adds", status=ResultStatus.PASSED),))
    assert without_folder(found, "/home/me/calc").tests[0].id == "t/a.js > adds"


def test_go_verbose_with_passing_tests_is_complete() -> None:
    results = log("=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \texample.org/a\t0.1s\n")
    assert [test.id for test in results.tests] == ["example.org/a.TestA"]
    assert (results.complete, results.names_all) == (True, True)


def test_a_jest_file_that_does_not_run_fails_by_its_name() -> None:
    summary = "Test Suites: 1 failed, 1 total\nTests:       0 total\n"
    results = log("FAIL src/a.test.ts\n  ● Test suite failed to run\n\n    SyntaxError\n\n" + summary)
    assert [(test.id, test.status.value, test.detail.strip()) for test in results.tests] == [
        ("src/a.test.ts", "failed", "SyntaxError")
    ]


QUIET = """{line}
FAIL: test_aaa (test_bank.Bank.test_aaa)
{dash}
Traceback (most recent call last):
AssertionError: 1 != 2

{line}
FAIL: test_fee (test_bank.Bank.test_fee)
{dash}
Traceback (most recent call last):
AssertionError: 3 != 4

{dash}
Ran {ran} tests in 0.001s

FAILED (failures={failures})
"""


def quiet(ran: int, failures: int) -> str:
    return QUIET.format(line="=" * 70, dash="-" * 70, ran=ran, failures=failures)


def test_unittest_with_q_names_its_first_failure_too() -> None:
    results = unittest_log(quiet(3, 2))
    assert results is not None
    assert sorted(test.id for test in results.failing) == ["test_bank.Bank.test_aaa", "test_bank.Bank.test_fee"]
    assert results.complete


def test_unittest_without_v_names_only_what_fails_even_if_all_do() -> None:
    results = unittest_log(quiet(2, 2))
    assert results is not None
    assert not results.names_all


def test_unittest_that_announces_more_failures_than_it_shows_is_not_complete() -> None:
    results = unittest_log(quiet(5, 3))
    assert results is not None
    assert not results.complete
