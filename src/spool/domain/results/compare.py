"""Compares two runs of the same tests."""

import msgspec

from spool.domain.results.model import Results, Status, Test


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """What changed between two runs. A renamed test has vanished, and is new."""

    newly_failing: tuple[Test, ...] = ()
    """Failing now, and not before: they passed, were skipped, or are new."""
    vanished: tuple[Test, ...] = ()
    """Named before, and not now. Empty if the runner does not name all tests now; see `fewer`."""
    newly_skipped: tuple[Test, ...] = ()
    """Skipped now, or failing as expected, and not before. A new test that is skipped is not among them."""
    fixed: tuple[Test, ...] = ()
    """Passed now; failing, skipped or failing as expected before."""
    new_passing: tuple[Test, ...] = ()
    """Passed now; not there before."""
    fewer: int = 0
    """By how many tests the run is smaller, named or not."""
    certain: bool = True
    """Both runs are complete and name all their tests, so that nothing else has changed."""

    @property
    def worse(self) -> bool:
        """Whether anything failed, vanished or was skipped that did not before."""
        return bool(self.newly_failing or self.vanished or self.newly_skipped or self.fewer)


def compare(before: Results, now: Results) -> Difference:
    """Compare two runs by the ids of their tests."""
    old = {test.id: test for test in before.tests}
    new = {test.id for test in now.tests}

    def was(test: Test) -> Status | None:
        return old[test.id].status if test.id in old else None

    return Difference(
        newly_failing=tuple(test for test in now.failing if was(test) is not Status.FAILED),
        vanished=tuple(test for test in before.tests if test.id not in new) if now.names_all else (),
        newly_skipped=tuple(test for test in now.skipped if was(test) in _skippable(before)),
        fixed=tuple(test for test in now.passed if was(test) in (Status.FAILED, Status.SKIPPED)),
        new_passing=tuple(test for test in now.passed if was(test) is None) if before.names_all else (),
        fewer=max(0, before.total - now.total),
        certain=before.complete and now.complete and before.names_all and now.names_all,
    )


def _skippable(before: Results) -> tuple[Status | None, ...]:
    """Return what a skipped test can have been before; a run that names only failing tests may have passed it."""
    known = (Status.PASSED, Status.FAILED)
    return known if before.names_all else (*known, None)
