"""Tests that contain other tests, reported after what they contain."""

import msgspec

from spool.domain.judging.results.model import ResultStatus, ResultTally

_DEPTH = 50
"""Deeper tests count as this deep, so that hostile nesting costs no quadratic time."""


class Leaf(msgspec.Struct):
    """One result, before it is known where it belongs."""

    name: str
    status: ResultStatus
    detail: str = ""
    expected: bool = False
    suite: bool = False


class NestedTests:
    """Names tests by their path. A test that contains others counts only if it fails and none of them does."""

    def __init__(self) -> None:
        self._open: dict[int, list[Leaf]] = {}

    def add(self, level: int, leaf: Leaf) -> None:
        """Add a result; everything deeper since the last one of its level is inside it."""
        level = min(level, _DEPTH)
        inside = [one for deeper in sorted(self._open) if deeper > level for one in self._open.pop(deeper)]
        for one in inside:
            one.name = f"{leaf.name} > {one.name}"
        alone = not inside and not leaf.suite
        unexplained = leaf.status is ResultStatus.FAILED and all(
            one.status is not ResultStatus.FAILED for one in inside
        )
        self._open.setdefault(level, []).extend([*inside, leaf] if alone or unexplained else inside)

    @property
    def unfinished(self) -> bool:
        """Whether a test that contains others did not end."""
        return any(level > 0 and leaves for level, leaves in self._open.items())

    def tally(self) -> ResultTally:
        """Return all tests."""
        tally = ResultTally()
        for level in sorted(self._open):
            for leaf in self._open[level]:
                tally.add(leaf.name, leaf.status, leaf.detail, expected_failure=leaf.expected)
        return tally
