"""Compares one run of a gate with its baseline. Pure, with a table test."""

from collections.abc import Callable, Iterable

import msgspec

from spool.domain.judging.gates.gate import GateRun
from spool.domain.judging.results.model import Results, Test
from spool.domain.text.plain_text import counted

_NAMED = 3
_NOT_LOADED = "unittest.loader._FailedTest."


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A run's result, compared with the baseline."""

    green: bool
    why: str
    failing: tuple[str, ...] = ()
    """Tests that fail, and are not tolerated."""
    vanished: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    """Tests that failed at the baseline and pass now."""
    still_failing: tuple[str, ...] = ()
    """Tests that failed at the baseline and fail now, tolerated or not."""
    turned_green: bool = False
    """Whether a gate without results of single tests was red and is green."""

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
    must_pass: Callable[[str], bool] = lambda _: False
    """Whether a test may not stay red, because the change names it."""
    may_vanish: Callable[[str], bool] = lambda _: False
    """Whether a test may be removed, renamed or skipped, because the change names its file."""


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
        return Comparison(green=False, why="the test results are incomplete: the tests ended early")
    if not now.results.total and not (before and before.tests):
        return Comparison(green=False, why="no test ran")
    if before and before.tests and before.names_all and not now.results.names_all:
        return Comparison(green=False, why="the test results no longer name each test")
    return _by_tests(now, now.results, before or Results(), measure)


def _by_exit_code(now: GateRun, measure: Measure) -> Comparison:
    was_red = measure.before is not None and not measure.before.green
    if now.exit_code == 0:
        return Comparison(green=True, why="exited with code 0", turned_green=was_red)
    why = f"exited with code {now.exit_code}"
    if was_red and not measure.strict:
        why += ", as before the change; without results of single tests a new failure cannot be detected"
    return Comparison(green=False, why=why)


def _by_tests(now: GateRun, tests: Results, before: Results, measure: Measure) -> Comparison:
    failing, known = ids(tests.failing) - measure.flaky, ids(before.tests)
    loaded = _loaded(before, tests)
    vanished = known - ids(tests.tests) - measure.flaky - loaded.keys() if tests.names_all else frozenset()
    skipped = (ids(tests.skipped) & known) - ids(before.skipped) - measure.flaky
    owed = frozenset(filter(measure.must_pass, failing & ids(before.failing)))
    red = failing if measure.strict else (failing - ids(before.failing)) | owed
    finding = Comparison(
        green=False,
        why="",
        failing=tuple(sorted(red)),
        vanished=_gone(vanished, measure),
        skipped=_gone(skipped, measure),
        still_failing=tuple(sorted(failing & ids(before.failing))),
    )
    reasons = _reasons(finding, frozenset() if measure.strict else owed)
    if not tests.names_all and before.total > tests.total:
        reasons.append(f"{counted(tests.total, 'test')} ran, where the baseline has {before.total}")
    if reasons:
        return msgspec.structs.replace(finding, why="; ".join(reasons))
    if now.exit_code and not tests.failing:
        return Comparison(green=False, why=f"exited with code {now.exit_code}, although no test fails")
    if worse := _worse_exit(now, measure):
        return Comparison(green=False, why=worse)
    passing = ids(tests.passed) - measure.flaky
    count = tests.total - len(tests.failing) - len(tests.skipped)
    why = f"{counted(count, 'test')} {'passes' if count == 1 else 'pass'}"
    if failing:
        why += f", {len(failing)} {'fails' if len(failing) == 1 else 'fail'} as before the change"
    fixed = passing & (ids(before.failing) | {test for found in loaded.values() for test in found})
    if not tests.names_all:  # a test that no longer fails is not named
        fixed |= ids(before.failing) - ids(tests.tests) - measure.flaky
    return Comparison(green=True, why=why, fixed=tuple(sorted(fixed)), still_failing=finding.still_failing)


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


def _reasons(finding: Comparison, owed: frozenset[str]) -> list[str]:
    worse = (
        ("fails", "fail", [name for name in finding.failing if name not in owed]),
        ("still fails, and the change names it", "still fail, and the change names them", sorted(owed)),
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
