"""What changed between two runs."""

from __future__ import annotations

import pytest

from spool.domain.results.compare import Difference, compare
from spool.domain.results.model import Results, Status, Test, merge

WORDS = {"+": Status.PASSED, "-": Status.FAILED, "s": Status.SKIPPED, "x": Status.SKIPPED}


def run(text: str, *, complete: bool = True, names_all: bool = True, unnamed: int = 0) -> Results:
    """Build results from words: `+a` passed, `-a` failed, `sa` skipped, `xa` failed as expected."""
    tests = tuple(Test(id=word[1:], status=WORDS[word[0]], expected_failure=word[0] == "x") for word in text.split())
    return Results(tests=tests, complete=complete, names_all=names_all, unnamed=unnamed, readers=("any",))


def names(difference: Difference) -> dict[str, list[str]]:
    fields = ("newly_failing", "vanished", "newly_skipped", "fixed", "new_passing")
    found = {field: [test.id for test in getattr(difference, field)] for field in fields}
    return {field: ids for field, ids in found.items() if ids}


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ("+a -b sc", "+a -b sc", {}),
        ("+a", "-a", {"newly_failing": ["a"]}),
        ("sa", "-a", {"newly_failing": ["a"]}),
        ("", "-a", {"newly_failing": ["a"]}),
        ("+a +b", "+a", {"vanished": ["b"]}),
        ("-a", "", {"vanished": ["a"]}),
        ("+a -b", "sa xb", {"newly_skipped": ["a", "b"]}),
        ("sa", "xa", {}),
        ("", "sa", {}),
        ("-a sb xc", "+a +b +c", {"fixed": ["a", "b", "c"]}),
        ("", "+a", {"new_passing": ["a"]}),
        ("+t[1]", "+t[one]", {"vanished": ["t[1]"], "new_passing": ["t[one]"]}),
        ("+a +a_#2", "+a", {"vanished": ["a_#2"]}),
    ],
)
def test_each_change_has_its_name(before: str, now: str, expected: dict[str, list[str]]) -> None:
    assert names(compare(run(before), run(now))) == expected


def test_a_new_passing_test_alone_is_not_worse() -> None:
    assert not compare(run("-a"), run("+a +b")).worse


@pytest.mark.parametrize(("before", "now"), [("+a", "-a"), ("+a", ""), ("+a", "sa"), ("", "-a")])
def test_failing_vanished_and_skipped_tests_are_worse(before: str, now: str) -> None:
    assert compare(run(before), run(now)).worse


def test_a_runner_that_names_only_failures_loses_no_names() -> None:
    before = run("-a", names_all=False, unnamed=9)
    now = run("-b", names_all=False, unnamed=9)
    difference = compare(before, now)
    assert names(difference) == {"newly_failing": ["b"]}
    assert (difference.fewer, difference.certain) == (0, False)


def test_a_runner_that_names_only_failures_still_counts() -> None:
    difference = compare(run("", names_all=False, unnamed=10), run("", names_all=False, unnamed=8))
    assert difference.fewer == 2
    assert difference.worse


def test_an_incomplete_run_makes_the_comparison_uncertain() -> None:
    assert not compare(run("+a"), run("+a", complete=False)).certain
    assert compare(run("+a"), run("+a")).certain


def test_merged_runs_keep_a_test_that_ran_twice() -> None:
    merged = merge([run("+a -b"), run("-a", unnamed=3)])
    assert [(test.id, test.status) for test in merged.tests] == [
        ("a", Status.PASSED),
        ("b", Status.FAILED),
        ("a #2", Status.FAILED),
    ]
    assert (merged.unnamed, merged.readers, merged.complete) == (3, ("any",), True)


def test_merged_runs_are_complete_if_each_is() -> None:
    assert not merge([run("+a"), run("+b", complete=False)]).complete
    assert not merge([]).complete
