"""Compares one run of a gate with its baseline. Pure, with a table test."""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from spool.domain.judging.gates.gate import GateRun
from spool.domain.judging.gates.old_failures import OldFailures, targets
from spool.domain.judging.results.failure_summaries import failure_summary
from spool.domain.judging.results.model import Results, Test
from spool.domain.text.plain_text import counted

_NAMED = 3
_NOT_LOADED = "unittest.loader._FailedTest."
_EARLY = {
    r"could not compile|\[build failed\]|BUILD FAIL": "the build failed",
    r"errors? during collection|ERROR collecting|Test suite failed to run": "a test file could not be loaded",
    r"error: test failed, to rerun pass": "cargo stopped at the first target that fails; --no-fail-fast runs all",
    r"stopping after \d+ failures": "it stopped at the first failure",
}
"""What a runner prints when its tests end early."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A run's result, compared with the baseline."""

    green: bool
    why: str
    failing: tuple[str, ...] = ()
    """Tests that fail, and are not tolerated."""
    vanished: tuple[str, ...] = ()
    """Tests of the baseline that are gone; in a green run, those that a replay must judge."""
    skipped: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    """Tests that failed at the baseline and pass now."""
    still_failing: tuple[str, ...] = ()
    """Tests that failed at the baseline and fail now, tolerated or not."""
    unexpected: tuple[str, ...] = ()
    """Those of them that nobody said would fail, if none that failed passes now."""
    turned_green: bool = False
    """Whether a gate was red, without whole results of single tests, and is green."""

    @property
    def worse(self) -> tuple[str, ...]:
        """The tests that refuse the claim."""
        return (*self.failing, *self.vanished, *self.skipped)


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """The yardstick for a run."""

    before: GateRun | None = None
    """The baseline's run; None if there is none."""
    strict: bool = False
    """Whether failures from before count too."""
    flaky: frozenset[str] = frozenset()
    """Tests whose result says nothing."""
    old: OldFailures = OldFailures()
    """What decides whether a test that was red may stay red."""
    may_vanish: Callable[[str], bool] = lambda _: False
    """Whether a test may be removed, renamed or skipped, because the change says so of its file."""
    replays: bool = False
    """Whether a replay can judge tests that vanished."""


def weigh(now: GateRun, measure: Measure) -> Comparison:
    """Decide whether a run is green, or at least no worse than the baseline."""
    if not now.started:
        return Comparison(green=False, why=now.trouble)
    if now.exit_code is None:
        return Comparison(green=False, why=now.ended or f"timed out after {now.duration_s:.0f} s")
    if now.changed:
        return Comparison(green=False, why=f"it changed tracked files: {named(now.changed)}")
    before = measure.before.results if measure.before else None
    if now.results is None and before is None:
        return _by_exit_code(now, measure)
    if now.results is None:
        tests = counted(before.total, "test") if before else ""
        return Comparison(green=False, why=f"no test results, where the baseline has {tests}")
    if not now.results.complete:
        return Comparison(green=False, why=f"the test results are incomplete: {_ended_early(now)}")
    if not now.results.ran and not (before and before.tests):
        return Comparison(green=False, why="no test ran")
    # Where nothing passed, a runner that names only failures looks as if it named all.
    if before and before.passed and before.names_all and not now.results.names_all:
        return Comparison(green=False, why="the test results no longer name each test")
    return _by_tests(now, now.results, before or Results(), measure)


def _by_exit_code(now: GateRun, measure: Measure) -> Comparison:
    was_red = measure.before is not None and not measure.before.green
    said = failure_summary(now.tail)
    if now.exit_code == 0 and said and not (measure.before and measure.before.green and _said_before(measure.before)):
        return Comparison(green=False, why=f"exited with code 0, although the test runner says: {said}")
    if now.exit_code == 0:
        return Comparison(green=True, why="exited with code 0", turned_green=was_red)
    why = f"exited with code {now.exit_code}"
    if was_red and not measure.strict:
        same = measure.before is not None and measure.before.exit_code == now.exit_code
        why += f", {'as' if same else 'and was red'} before the change"
        why += "; without results of single tests a new failure cannot be detected"
    return Comparison(green=False, why=why)


def _said_before(before: GateRun) -> bool:
    """Whether the baseline printed such a line too: tests of a test runner do."""
    return bool(failure_summary(before.tail))


def _ended_early(now: GateRun) -> str:
    return next((why for pattern, why in _EARLY.items() if re.search(pattern, now.tail)), "the tests ended early")


def _by_tests(now: GateRun, tests: Results, before: Results, measure: Measure) -> Comparison:
    failing, known = ids(tests.failing) - measure.flaky, ids(before.tests)
    loaded = _loaded(before, tests)
    vanished = known - ids(tests.tests) - measure.flaky - loaded.keys() if tests.names_all else frozenset()
    skipped = (ids(tests.skipped) & known) - ids(before.skipped) - measure.flaky
    still = failing & ids(before.failing)
    fixed = _fixed(tests, before, loaded, measure)
    owed = targets((test for test in tests.failing if test.id in still), fixed, measure.old)
    expected = frozenset(filter(measure.old.expects, still))
    red = failing - expected if measure.strict else (failing - still) | owed.keys()
    finding = Comparison(
        green=False,
        why="",
        failing=tuple(sorted(red)),
        vanished=_gone(vanished, measure),
        skipped=_gone(skipped, measure),
        still_failing=tuple(sorted(still)),
    )
    objected = msgspec.structs.replace(finding, vanished=()) if measure.replays else finding
    reasons = _reasons(objected, {} if measure.strict else owed)
    if fewer := _fewer(tests, before):
        reasons.append(fewer)
    if reasons:
        return msgspec.structs.replace(finding, why="; ".join(reasons))
    if now.exit_code and not tests.failing:
        return Comparison(green=False, why=f"exited with code {now.exit_code}, although no test fails")
    if worse := _worse_exit(now, measure):
        return Comparison(green=False, why=worse)
    return msgspec.structs.replace(
        finding,
        green=True,
        why=_passing(tests, len(failing)),
        failing=(),
        fixed=tuple(sorted(fixed)),
        unexpected=() if fixed else tuple(sorted(still - expected)),
        turned_green=now.green and measure.before is not None and not measure.before.green and not before.complete,
    )


def _fixed(tests: Results, before: Results, loaded: Mapping[str, frozenset[str]], measure: Measure) -> frozenset[str]:
    """Return the tests that failed and pass now; where a test that passes has no name, those that no longer fail."""
    passing = ids(tests.passed) - measure.flaky
    fixed = passing & (ids(before.failing) | {test for found in loaded.values() for test in found})
    return fixed if tests.names_all else fixed | (ids(before.failing) - ids(tests.tests) - measure.flaky)


def _passing(tests: Results, failing: int) -> str:
    count = tests.total - len(tests.failing) - len(tests.skipped)
    unit = "package" if tests.packages and not count else "test"
    count = count or tests.packages
    why = f"{counted(count, unit)} {'passes' if count == 1 else 'pass'}"
    return why if not failing else f"{why}, {failing} {'fails' if failing == 1 else 'fail'} as before the change"


def _fewer(tests: Results, before: Results) -> str:
    """Say that fewer tests ran, where passing ones have no names; packages are not compared with tests."""
    if tests.names_all:
        return ""
    if not tests.packages and not before.packages and before.total > tests.total:
        return f"{counted(tests.total, 'test')} ran, where the baseline has {before.total}"
    if not tests.tests and not before.tests and before.packages > tests.packages:
        return f"the tests of {counted(tests.packages, 'package')} ran, where the baseline has {before.packages}"
    return ""


def _loaded(before: Results, now: Results) -> dict[str, frozenset[str]]:
    """Return the files that could not be loaded at the baseline, each with the tests that it has now.

    Runners report such a file as one failing test: by its path, its package, or as unittest's `_FailedTest`.
    """
    found = {}
    for failed in ids(before.failing):
        starts = tuple(f"{failed.removeprefix(_NOT_LOADED)}{mark}" for mark in ("::", " > ", "."))
        if inside := frozenset(test.id for test in now.tests if test.id.startswith(starts)):
            found[failed] = inside
    return found


def _worse_exit(now: GateRun, measure: Measure) -> str:
    """Say that more fails than the tests that failed before; some runners exit with the number of failures."""
    before = measure.before.exit_code if measure.before else None
    if not before or now.exit_code is None or now.exit_code == before or 0 <= now.exit_code < before:
        return ""
    return f"exited with code {now.exit_code}, where the baseline exited with {before}: more fails than these tests"


def _reasons(finding: Comparison, owed: Mapping[str, str]) -> list[str]:
    worse = (
        ("fails", "fail", [name for name in finding.failing if name not in owed]),
        *(
            (f"still fails, and {why}", f"still fail, and {why}", sorted(name for name in owed if owed[name] == why))
            for why in dict.fromkeys(owed.values())
        ),
        ("vanished", "vanished", finding.vanished),
        ("is skipped", "are skipped", finding.skipped),
    )
    return [f"{named(names)} {one if len(names) == 1 else many}" for one, many, names in worse if names]


def _gone(found: Iterable[str], measure: Measure) -> tuple[str, ...]:
    return tuple(sorted(name for name in found if not measure.may_vanish(name)))


def ids(tests: Iterable[Test]) -> frozenset[str]:
    """Return the ids of some tests."""
    return frozenset(test.id for test in tests)


def named(found: Iterable[str]) -> str:
    """Name the first few of some tests or files."""
    names = list(found)
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def differing(first: GateRun, second: GateRun) -> frozenset[str]:
    """Return the tests whose results differ between two runs on the same tree."""
    if first.results is None or second.results is None:
        return frozenset()
    one, other = first.results, second.results
    ends = [{(test.id, test.status) for test in results.tests} for results in (one, other)]
    return frozenset(name for name, _ in ends[0] ^ ends[1])
