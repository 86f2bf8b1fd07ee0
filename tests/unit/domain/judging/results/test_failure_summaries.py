"""A runner's own summary outweighs an exit code that the source forced."""

import pytest

from spool.domain.judging.gates.comparison import Measure, weigh
from spool.domain.judging.results.failure_summaries import failure_summary
from tests.unit.domain.judging.gates.gate_runs import run

RED = [
    "FAILURES!\nTests: 2, Assertions: 2, Failures: 1.",
    "ERRORS!\nTests: 2, Assertions: 1, Errors: 1.",
    "3 runs, 3 assertions, 1 failures, 0 errors, 0 skips",
    "3 runs, 3 assertions, 0 failures, 2 errors, 0 skips",
    "2 examples, 1 failure",
    "2 specs, 1 failure",
    "  1 passing (5ms)\n  1 failing\n",
    "  1 test failed\n",
    "3 successes / 1 failure / 0 errors / 0 pending : 0.01 seconds",
    "50% tests passed, 1 tests failed out of 2",
    "# tests 2\n# pass  1\n# fail  1",
    "FAILED | 1 passed | 1 failed (4ms)",
    " 1 pass\n 2 fail\n",
    "2 tests, 1 failure",
    "  Failed: 1.  Skipped: 0.  Passed: 1.",
    "2 tests completed, 1 failed",
    "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0",
    "Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4",
]
GREEN = [
    "OK (2 tests, 2 assertions)",
    "3 runs, 3 assertions, 0 failures, 0 errors, 0 skips",
    "2 examples, 0 failures",
    "  2 passing (5ms)",
    "100% tests passed, 0 tests failed out of 2",
    "# fail  0",
    "Tests run: 2, Failures: 0, Errors: 0, Skipped: 0",
    "10 errors were found in the log that the parser reads",
]


@pytest.mark.parametrize("output", RED)
def test_exit_code_0_is_not_green_beside_a_summary_of_failures(output: str) -> None:
    found = weigh(run(0, tail=output), Measure(before=run(1, tail=output)))
    assert (found.green, "although the test runner says" in found.why) == (False, True)


@pytest.mark.parametrize("output", GREEN)
def test_a_summary_without_failures_says_nothing(output: str) -> None:
    assert failure_summary(output) == ""


def test_a_line_that_a_green_baseline_printed_too_is_not_held_against_it() -> None:
    assert weigh(run(0, tail=RED[4]), Measure(before=run(0, tail=RED[4]))).green
