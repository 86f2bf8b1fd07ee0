"""The benchmarks write no figure of a run that failed."""

import subprocess

import pytest

from bench.suite import row_of


def ended(code: int, last: str) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(["make", "test"], code, stdout=f"===== {last} =====\n", stderr="")


def test_a_red_suite_is_never_written_as_a_result() -> None:
    with pytest.raises(SystemExit, match="16 failed, 5951 passed"):
        row_of("test", 1_500, ended(2, "16 failed, 5951 passed in 1992.99s"), 2_015)


def test_a_green_suite_is_written_with_its_closing_line() -> None:
    row = row_of("test", 1_500, ended(0, "5951 passed in 1400.10s"), 1_402)
    assert row.shown == "1402 s (5951 passed in 1400.10s)" and row.met
