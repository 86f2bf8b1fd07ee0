"""Which refs a revert puts back, as a table."""

import pytest

from spool.host.git.checkpoints.record.user_repository import Head, Refs
from spool.host.git.checkpoints.restore.refs import Elsewhere, plan_refs

MAIN, FEAT, TAG = b"refs/heads/main", b"refs/heads/feat", b"refs/tags/v1"
OLD, NEW = "a" * 40, "b" * 40
ALONE = Elsewhere(others=0, branches=set(), own=set())


def refs(names: dict[bytes, str], *, on: bytes | None = MAIN) -> Refs:
    return Refs(Head(on, names.get(on) if on else OLD), names)


@pytest.mark.parametrize(
    ("saved", "now", "elsewhere", "delete", "write", "left"),
    [
        ({MAIN: OLD}, {MAIN: OLD}, ALONE, set(), set(), []),
        ({MAIN: OLD}, {MAIN: NEW}, ALONE, set(), {MAIN}, []),
        ({MAIN: OLD}, {MAIN: OLD, FEAT: NEW}, ALONE, {FEAT}, set(), []),
        ({MAIN: OLD, FEAT: OLD}, {MAIN: OLD}, ALONE, set(), {FEAT}, []),
        ({MAIN: OLD, TAG: OLD}, {MAIN: OLD, TAG: NEW}, ALONE, set(), {TAG}, []),
        # With another working tree, only what this one's log of HEAD names is this one's.
        ({MAIN: OLD}, {MAIN: NEW}, Elsewhere(others=1, branches=set(), own=set()), set(), {MAIN}, []),
        ({MAIN: OLD}, {MAIN: OLD, FEAT: NEW}, Elsewhere(others=1, branches=set(), own=set()), set(), set(), [FEAT]),
        ({MAIN: OLD}, {MAIN: OLD, FEAT: NEW}, Elsewhere(others=1, branches=set(), own={b"feat"}), {FEAT}, set(), []),
        (
            {MAIN: OLD}, {MAIN: OLD, FEAT: NEW}, Elsewhere(others=1, branches=set(), own={NEW.encode()}),
            {FEAT}, set(), [],
        ),
        # What is checked out elsewhere is never touched.
        (
            {MAIN: OLD, FEAT: OLD}, {MAIN: OLD, FEAT: NEW}, Elsewhere(others=1, branches={FEAT}, own={b"feat"}),
            set(), set(), [FEAT],
        ),
    ],
)  # fmt: skip
def test_plan(
    saved: dict[bytes, str],
    now: dict[bytes, str],
    elsewhere: Elsewhere,
    delete: set[bytes],
    write: set[bytes],
    left: list[bytes],
) -> None:
    plan = plan_refs(refs(saved), refs(now), elsewhere)
    assert (set(plan.delete), set(plan.write), plan.left) == (delete, write, left)


@pytest.mark.parametrize(
    ("then", "now", "branches", "expected"),
    [
        (Head(MAIN, OLD), Head(MAIN, OLD), set(), None),
        (Head(MAIN, OLD), Head(FEAT, NEW), set(), Head(MAIN, OLD)),
        (Head(None, OLD), Head(MAIN, OLD), set(), Head(None, OLD)),
        (Head(MAIN, None), Head(MAIN, NEW), set(), Head(MAIN, None)),
        (Head(MAIN, OLD), Head(FEAT, NEW), {MAIN}, Head(None, OLD)),
    ],
)
def test_head(then: Head, now: Head, branches: set[bytes], expected: Head | None) -> None:
    elsewhere = Elsewhere(others=len(branches), branches=branches, own=set())
    assert plan_refs(Refs(then, {}), Refs(now, {}), elsewhere).head == expected
