"""What presses of q mean, row by row."""

import pytest

from spool.tui.stop_keys import PressEffect, StopKey


@pytest.mark.parametrize(
    ("presses", "pending_before", "answers"),
    [
        ([0], False, [PressEffect.STOP]),
        ([0, 1], False, [PressEffect.STOP, PressEffect.ONCE_MORE]),
        ([0, 1, 2], False, [PressEffect.STOP, PressEffect.ONCE_MORE, PressEffect.FORCE]),
        ([0, 1.5, 3], False, [PressEffect.STOP, PressEffect.ONCE_MORE, PressEffect.FORCE]),
        ([0, 60, 120], False, [PressEffect.STOP, PressEffect.ONCE_MORE, PressEffect.FORCE]),
        ([0, 1], True, [PressEffect.ONCE_MORE, PressEffect.FORCE]),
        ([0, 600], True, [PressEffect.ONCE_MORE, PressEffect.FORCE]),
    ],
)
def test_presses(presses: list[float], pending_before: bool, answers: list[PressEffect]) -> None:
    key, pending, given = StopKey(), pending_before, []
    for at in presses:
        given.append(key.press(at, pending=pending))
        pending = True
    assert given == answers


def test_three_within_three_seconds_always_force() -> None:
    key = StopKey()
    assert [key.press(at, pending=False) for at in (0, 1, 2.9)] == [
        PressEffect.STOP,
        PressEffect.STOP,
        PressEffect.FORCE,
    ]
    slow = StopKey()
    assert [slow.press(at, pending=False) for at in (0, 2, 4, 6)] == [PressEffect.STOP] * 4


def test_the_hint_counts_what_is_left() -> None:
    key = StopKey()
    key.press(0, pending=False)
    assert key.left == 2
    key.press(9, pending=True)
    assert key.left == 1
