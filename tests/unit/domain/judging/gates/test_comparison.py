"""A gate's run, weighed against its baseline."""

import pytest

from spool.domain.judging.gates.comparison import Measure, differing, weigh
from spool.domain.judging.gates.gate import GateRun
from spool.domain.judging.gates.old_failures import OldFailures
from spool.domain.judging.results.model import Results, ResultStatus, Test
from tests.unit.domain.judging.gates.gate_runs import results, run

GREEN = run(0, results(a="passed", b="passed"))
RED = run(1, results(a="passed", b="failed"))
TABLE = [
    ("all pass", GREEN, GREEN, True, "2 tests pass"),
    ("a new test passes", GREEN, run(0, results(a="passed", b="passed", c="passed")), True, "3 tests pass"),
    ("one fails newly", GREEN, RED, False, "b fails"),
    ("one vanished", GREEN, run(0, results(a="passed")), False, "b vanished"),
    ("one is skipped newly", GREEN, run(0, results(a="passed", b="skipped")), False, "b is skipped"),
    ("a new test is skipped", GREEN, run(0, results(a="passed", b="passed", c="skipped")), True, "2 tests pass"),
    ("still red, and no worse", RED, RED, True, "1 test passes, 1 fails as before the change"),
    ("red before, and one more", RED, run(1, results(a="failed", b="failed")), False, "a fails"),
    ("fixed", RED, GREEN, True, "2 tests pass"),
    ("exit 0 beside a failure", GREEN, run(0, results(a="passed", b="failed")), False, "b fails"),
    ("red without a failing test", GREEN, run(2, results(a="passed", b="passed")), False, "although no test fails"),
    ("all vanished", GREEN, run(5, results()), False, "a, b vanished"),
    ("no test ran", None, run(0, results()), False, "no test ran"),
    ("no results", GREEN, run(0), False, "no test results, where the baseline has 2 tests"),
    ("ended early", GREEN, run(0, results(False, a="passed", b="passed")), False, "incomplete"),
    ("timed out", GREEN, run(None, duration_s=20.0), False, "timed out after 20 s"),
    ("cannot start", GREEN, run(127, trouble="make: not found"), False, "make: not found"),
    ("changes tracked files", GREEN, run(0, changed=("a.py",)), False, "it changed tracked files: a.py"),
    ("red before, and it exits worse", RED, run(7, results(a="passed", b="failed")), False, "more fails than these"),
    ("red before, and it crashes", RED, run(-11, results(a="passed", b="failed")), False, "more fails than these"),
    ("red before, and it exits better", run(7, results(a="passed", b="failed")), RED, True, "1 fails as before"),
    ("by exit code, green", run(0), run(0), True, "exited with code 0"),
    ("by exit code, turned red", run(0), run(3), False, "exited with code 3"),
    ("by exit code, red as before", run(3), run(3), False, "cannot be detected"),
    ("no baseline", None, GREEN, True, "2 tests pass"),
    ("no baseline, red", None, RED, False, "b fails"),
]


@pytest.mark.parametrize(("before", "now", "green", "why"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_green_or_no_worse(before: GateRun | None, now: GateRun, green: bool, why: str) -> None:
    found = weigh(now, Measure(before=before))
    assert (found.green, why in found.why) == (green, True), found.why


def test_what_was_failing_and_passes_is_fixed() -> None:
    assert weigh(GREEN, Measure(before=RED)).fixed == ("b",)


@pytest.mark.parametrize(
    ("failed", "passing"),
    [
        ("tests/test_power.py", "tests/test_power.py::test_power"),
        ("power.test.js", "power.test.js > raises > to 3"),
        ("example.com/power", "example.com/power.TestPower"),
        ("unittest.loader._FailedTest.test_power", "test_power.PowerTest.test_power"),
    ],
)
def test_a_file_that_could_not_be_loaded_has_not_vanished_once_its_tests_run(failed: str, passing: str) -> None:
    before = run(1, results(True, **{"a": "passed", failed: "failed"}))
    found = weigh(run(0, results(True, **{"a": "passed", passing: "passed"})), Measure(before=before))
    assert (found.green, found.fixed) == (True, (passing,))
    gone = weigh(run(0, results(a="passed")), Measure(before=before))
    assert (gone.green, gone.vanished) == (False, (failed,))
    red = weigh(run(1, results(True, **{"a": "passed", passing: "failed"})), Measure(before=before))
    assert (red.green, red.failing) == (False, (passing,))


def test_a_gate_without_results_that_turns_green_says_so() -> None:
    assert weigh(run(0), Measure(before=run(1))).turned_green


def test_strict_refuses_what_failed_before() -> None:
    assert not weigh(RED, Measure(before=RED, strict=True)).green


def test_flaky_tests_say_nothing() -> None:
    assert weigh(RED, Measure(before=GREEN, flaky=frozenset({"b"}))).green


def test_a_test_whose_file_the_change_names_may_vanish() -> None:
    measure = Measure(before=GREEN, may_vanish=lambda test: test == "b")
    assert weigh(run(0, results(a="passed")), measure).green


def test_a_red_test_that_the_change_names_must_pass() -> None:
    found = weigh(RED, Measure(before=RED, old=OldFailures(asked="Make `b` pass.")))
    assert (found.green, found.why) == (False, "b still fails, and the change names it")


def test_a_red_test_that_stays_red_while_nothing_turns_green_is_noted() -> None:
    assert weigh(RED, Measure(before=RED)).unexpected == ("b",)
    assert weigh(RED, Measure(before=RED, old=OldFailures(known=("b",)))).unexpected == ()


def test_strict_tolerates_what_a_person_expects_to_fail() -> None:
    known = OldFailures(known=("b",))
    assert weigh(RED, Measure(before=RED, strict=True, old=known)).green
    assert not weigh(RED, Measure(before=GREEN, strict=True, old=known)).green


def test_a_replay_judges_tests_that_vanished() -> None:
    found = weigh(run(0, results(a="passed", c="passed")), Measure(before=GREEN, replays=True))
    assert (found.green, found.vanished) == (True, ("b",))


def test_a_runner_that_named_no_passing_test_did_not_name_all() -> None:
    before = run(1, results(a="failed", b="failed"))
    now = run(0, Results(complete=True, names_all=False, unnamed=2))
    found = weigh(now, Measure(before=before))
    assert (found.green, found.fixed) == (True, ("a", "b"))


def test_packages_are_not_compared_with_tests() -> None:
    failed = Test(id="example.org/a.TestOne", status=ResultStatus.FAILED)
    other = Test(id="example.org/a.TestTwo", status=ResultStatus.FAILED)
    before = run(1, Results(tests=(failed, other), complete=True, names_all=False))
    now = run(0, Results(complete=True, names_all=False, packages=1))
    found = weigh(now, Measure(before=before))
    assert (found.green, found.why) == (True, "1 package passes")
    fewer = weigh(now, Measure(before=run(0, Results(complete=True, names_all=False, packages=2))))
    assert not fewer.green


def test_a_check_that_did_not_build_and_is_green_has_turned_green() -> None:
    for before in (run(101), run(2, results(False, a="passed"))):
        assert weigh(GREEN, Measure(before=before)).turned_green
    assert not weigh(GREEN, Measure(before=RED)).turned_green


def test_tests_that_end_early_say_why() -> None:
    now = run(2, results(False, a="passed"), tail="FAIL\texample.org/a [build failed]")
    assert weigh(now, Measure(before=GREEN)).why == "the test results are incomplete: the build failed"


def test_a_runner_that_names_only_failures_may_not_run_fewer_tests() -> None:
    before = run(0, Results(complete=True, names_all=False, unnamed=5))
    now = run(0, Results(complete=True, names_all=False, unnamed=4))
    assert weigh(now, Measure(before=before)).why == "4 tests ran, where the baseline has 5"


def test_two_runs_on_one_tree_differ_in_flaky_tests() -> None:
    assert differing(GREEN, RED) == {"b"}
    assert differing(GREEN, run(0)) == frozenset()
